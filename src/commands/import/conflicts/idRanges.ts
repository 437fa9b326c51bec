/** A set of ids that takes little memory if most of them follow each other, as in an export. */
export class IdRanges {
  /** Start and end of each range. */
  #ranges: [number, number][] = []
  #isSorted = true

  add(id: number): void {
    const last = this.#ranges.at(-1)
    if (last && last[1] === id - 1) last[1] = id
    else {
      if (last && id <= last[1]) this.#isSorted = false
      this.#ranges.push([id, id])
    }
  }

  has(id: number): boolean {
    if (!this.#isSorted) this.#sort()
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ranges[middle]?.[1] ?? 0) < id) low = middle + 1
      else high = middle
    }
    return (this.#ranges[low]?.[0] ?? Number.POSITIVE_INFINITY) <= id
  }

  /** Sorts the ranges and joins those that overlap or touch. */
  #sort(): void {
    const joined: [number, number][] = []
    for (const [start, end] of this.#ranges.sort(([a], [b]) => a - b)) {
      const last = joined.at(-1)
      if (last && start <= last[1] + 1) last[1] = Math.max(last[1], end)
      else joined.push([start, end])
    }
    this.#ranges = joined
    this.#isSorted = true
  }
}
