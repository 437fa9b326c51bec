import type { Database } from '../database/database.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { PreparedResponse } from './response.ts'

/** What an entry takes besides its characters, approximately. */
const entryBytes = 512

/**
 * Responses that depend on the database and the target alone. They are valid for one version of the database: with the
 * next one all are dropped, so no caller sees data from before an acknowledged change.
 */
export class PageCache {
  readonly #bytesMax: number
  readonly #responses = new Map<string, PreparedResponse>()
  #version = -1
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(version: number, target: string): PreparedResponse | undefined {
    if (version === this.#version) return this.#responses.get(target)
    this.#clear()
    this.#version = version
    return undefined
  }

  /** `version` is the one that the database had before the response was read from it. */
  set(version: number, target: string, response: PreparedResponse): void {
    if (response.body === undefined || version !== this.#version || this.#responses.has(target)) return
    const bytes = response.body.length + target.length + entryBytes
    if (this.#bytes + bytes > this.#bytesMax) this.#clear()
    this.#responses.set(target, response)
    this.#bytes += bytes
  }

  #clear(): void {
    this.#responses.clear()
    this.#bytes = 0
  }
}

const webPageBytesMax = 32 * 1024 * 1024

/** Responses of pages outside the API. A change of the database drops all of them. */
export class WebPageCache {
  readonly #database: Database
  readonly #responses = new PageCache(webPageBytesMax)
  readonly #values = new Map<string, { readonly version: number; readonly value: unknown }>()
  readonly #running = new Map<string, Promise<unknown>>()
  #changes = 0

  constructor(database: Database) {
    this.#database = database
    const drop = () => {
      this.#changes++
    }
    database.onCommit(drop)
    // On PostgreSQL, a change of another instance is known only after the next poll.
    database.onExternalChange(drop)
  }

  serve(key: string, render: () => MaybePromise<PreparedResponse>): MaybePromise<PreparedResponse> {
    const version = this.#version()
    const cached = this.#responses.get(version, key)
    if (cached) return cached
    return this.#once(`${version} ${key}`, () =>
      chain(render(), (response) => {
        // Only 200: anyone can make up addresses without a page.
        if (response.status === 200) this.#responses.set(version, key, response)
        return response
      }),
    )
  }

  /** What several pages are made of. The names are constants, so there are few. */
  async value<T>(name: string, compute: () => Promise<T>): Promise<T> {
    const version = this.#version()
    const cached = this.#values.get(name)
    if (cached?.version === version) return cached.value as T
    const value = await this.#once(`${version} value ${name}`, compute)
    this.#values.set(name, { version, value })
    return value as T
  }

  #version(): number {
    return this.#database.version() ?? this.#changes
  }

  /** Requests that wait for the same work after a change share it. */
  #once<T>(work: string, run: () => MaybePromise<T>): MaybePromise<T> {
    const running = this.#running.get(work)
    if (running) return running as Promise<T>
    const result = run()
    if (result instanceof Promise) {
      const forget = () => this.#running.delete(work)
      this.#running.set(work, result)
      result.then(forget, forget)
    }
    return result
  }
}

export type CachedRow = { readonly etag: string; readonly json: string }

type RowCacheBounds = { readonly rowsMax: number; readonly blocks: number; readonly blockBytes: number }

const defaultRowBounds: RowCacheBounds = { rowsMax: 2 ** 17, blocks: 64, blockBytes: 256 * 1024 }
/** Each row is stored as its length in two bytes, its ETag and its JSON. */
const lengthBytes = 2
const rowBytesMax = 0xffff
/** In place of an id. */
const emptySlot = -1

/**
 * Responses about one id each, valid until a row of that id changes. A change by another process may affect any row, so a
 * new epoch drops all of them. Rows are stored one after another in a ring buffer, where the newest overwrite the oldest:
 * 100,000 rows take 11 MB, as strings in a Map 29 MB.
 */
export class RowCache {
  readonly #bounds: RowCacheBounds
  readonly #bytesMax: number
  /** Two numbers for each slot: the id of the row, and its position. Positions count on through all rounds of the ring. */
  readonly #slots: Float64Array
  /** Allocated when needed. */
  readonly #blocks: Buffer[] = []
  /** The position of the next row. */
  #end = 0
  /** Rows before this position are dropped. */
  #start = 0
  #epoch = -1

  constructor(bounds = defaultRowBounds) {
    this.#bounds = bounds
    this.#bytesMax = bounds.blocks * bounds.blockBytes
    this.#slots = new Float64Array(2 * bounds.rowsMax).fill(emptySlot)
  }

  get(epoch: number, id: number): CachedRow | undefined {
    if (epoch !== this.#epoch) {
      this.#start = this.#end
      this.#epoch = epoch
    }
    const slot = this.#slotOf(id)
    const position = this.#slots[slot + 1] as number
    if (this.#slots[slot] !== id || position < this.#start || position < this.#end - this.#bytesMax)
      return undefined
    const block = this.#blockAt(position)
    const at = position % block.length
    const text = block.toString('utf8', at + lengthBytes, at + lengthBytes + block.readUInt16LE(at))
    // After the closing quotation mark of the ETag, which is a strong one.
    const jsonStart = text.indexOf('"', 1) + 1
    return { etag: text.slice(0, jsonStart), json: text.slice(jsonStart) }
  }

  set(id: number, { etag, json }: CachedRow): void {
    const { blockBytes } = this.#bounds
    const text = etag + json
    const bytes = Buffer.byteLength(text)
    if (bytes > rowBytesMax || lengthBytes + bytes > blockBytes) return void this.delete(id)
    const left = blockBytes - (this.#end % blockBytes)
    if (lengthBytes + bytes > left) this.#end += left
    const block = this.#blockAt(this.#end)
    const at = this.#end % blockBytes
    block.writeUInt16LE(bytes, at)
    block.write(text, at + lengthBytes)
    const slot = this.#slotOf(id)
    this.#slots[slot] = id
    this.#slots[slot + 1] = this.#end
    this.#end += lengthBytes + bytes
  }

  delete(id: number): void {
    const slot = this.#slotOf(id)
    if (this.#slots[slot] === id) this.#slots[slot] = emptySlot
  }

  #slotOf(id: number): number {
    return 2 * (id % this.#bounds.rowsMax)
  }

  #blockAt(position: number): Buffer {
    const { blocks, blockBytes } = this.#bounds
    const index = Math.floor(position / blockBytes) % blocks
    this.#blocks[index] ??= Buffer.allocUnsafeSlow(blockBytes)
    return this.#blocks[index]
  }
}
