/** A map with at most `max` entries. Beyond that it drops the entry that was set least recently. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number

  constructor(max: number) {
    super()
    this.#max = max
  }

  override set(key: K, value: V): this {
    // A map is ordered by insertion, so the key is deleted first to move it to the end.
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#max) this.delete(this.keys().next().value as K)
    return this
  }
}
