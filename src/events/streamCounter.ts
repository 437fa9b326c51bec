/** Counts the open streams of this instance, in all and of each key, so that one key cannot take those of all others. */
export class StreamCounter {
  readonly #max: number
  readonly #ofKey = new Map<number, number>()
  #total = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Counts one more, where there is room for it. */
  add(keyId: number, ofKeyMax: number): 'added' | 'key_limit' | 'instance_limit' {
    const ofKey = this.#ofKey.get(keyId) ?? 0
    if (ofKey >= ofKeyMax) return 'key_limit'
    if (this.#total >= this.#max) return 'instance_limit'
    this.#total++
    this.#ofKey.set(keyId, ofKey + 1)
    return 'added'
  }

  remove(keyId: number): void {
    this.#total--
    const left = (this.#ofKey.get(keyId) ?? 1) - 1
    if (left > 0) this.#ofKey.set(keyId, left)
    else this.#ofKey.delete(keyId)
  }
}
