const idsPerWord = 32

/** A set of ids that takes little memory if most of them follow each other, as in an export. */
export class IdSet {
  /** One bit for each id. */
  readonly #words = new Map<number, number>()

  add(id: number): void {
    const word = Math.floor(id / idsPerWord)
    this.#words.set(word, (this.#words.get(word) ?? 0) | (1 << (id % idsPerWord)))
  }

  has(id: number): boolean {
    return ((this.#words.get(Math.floor(id / idsPerWord)) ?? 0) & (1 << (id % idsPerWord))) !== 0
  }
}
