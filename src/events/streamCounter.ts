/** Counts the open streams of this instance, in total and per API key. */
export class StreamCounter {
  readonly #totalMax: number
  readonly #byKey = new Map<number, number>()
  #total = 0

  constructor(totalMax: number) {
    this.#totalMax = totalMax
  }

  /** Counts a stream, unless a limit is reached. */
  add(keyId: number, perKeyMax: number): 'added' | 'key_limit' | 'instance_limit' {
    const count = this.#byKey.get(keyId) ?? 0
    if (count >= perKeyMax) return 'key_limit'
    if (this.#total >= this.#totalMax) return 'instance_limit'
    this.#total++
    this.#byKey.set(keyId, count + 1)
    return 'added'
  }

  remove(keyId: number): void {
    this.#total--
    const count = (this.#byKey.get(keyId) ?? 1) - 1
    if (count > 0) this.#byKey.set(keyId, count)
    else this.#byKey.delete(keyId)
  }
}
