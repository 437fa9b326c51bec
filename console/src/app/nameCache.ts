import { signal } from '@preact/signals'
import type { Int64 } from '../../../client/src/index.ts'

const namesMax = 5_000
const idsPerLoad = 100

type Named = { readonly id: Int64; readonly name: string }

/** Names of things that a screen refers to by id. Missing names are loaded together. */
export class NameCache {
  /** Undefined while the name is loaded, and if it was not found. The order is that of the requests. */
  readonly #names = signal<ReadonlyMap<Int64, string | undefined>>(new Map())
  readonly #waiting = new Set<Int64>()
  readonly #load: (ids: readonly Int64[]) => Promise<readonly Named[]>

  constructor(load: (ids: readonly Int64[]) => Promise<readonly Named[]>) {
    this.#load = load
  }

  /** The name, or undefined until it is known. */
  get(id: Int64): string | undefined {
    const names = this.#names.value
    if (!names.has(id) && !this.#waiting.has(id)) {
      if (this.#waiting.size === 0) queueMicrotask(() => void this.#loadWaiting())
      this.#waiting.add(id)
    }
    return names.get(id)
  }

  has(id: Int64): boolean {
    return this.#names.peek().has(id)
  }

  set(items: readonly Named[]): void {
    this.#put(items.map(({ id, name }) => [id, name]))
  }

  clear(): void {
    this.#names.value = new Map()
  }

  async #loadWaiting(): Promise<void> {
    const ids = [...this.#waiting]
    this.#waiting.clear()
    this.#put(ids.map((id) => [id, undefined]))
    for (let start = 0; start < ids.length; start += idsPerLoad) {
      const part = ids.slice(start, start + idsPerLoad)
      try {
        this.set(await this.#load(part))
      } catch {
        // The id is shown instead. It is asked for again when it is next shown.
        this.#forget(part)
      }
    }
  }

  #put(entries: readonly (readonly [Int64, string | undefined])[]): void {
    const names = new Map(this.#names.peek())
    for (const [id, name] of entries) {
      names.delete(id)
      names.set(id, name)
    }
    this.#names.value = new Map([...names].slice(-namesMax))
  }

  #forget(ids: readonly Int64[]): void {
    const names = new Map(this.#names.peek())
    for (const id of ids) names.delete(id)
    this.#names.value = names
  }
}
