/** Counts events for each combination of the values of up to two labels. */
export class EventCounter {
  /** As prom-client takes them. */
  readonly options: { readonly name: string; readonly help: string; readonly labelNames: readonly string[] }
  /** By the values of the first and the second label. */
  readonly #counts = new Map<string, Map<string, number>>()

  constructor(name: string, help: string, labelNames: readonly string[]) {
    this.options = { name, help, labelNames }
  }

  increment(first = '', second = ''): void {
    let counts = this.#counts.get(first)
    if (!counts) {
      counts = new Map()
      this.#counts.set(first, counts)
    }
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }

  /** The labels and the count of each combination. */
  *counts(): Generator<[labels: Record<string, string>, count: number]> {
    for (const [first, counts] of this.#counts) {
      for (const [second, count] of counts) {
        const values = [first, second]
        const labels = this.options.labelNames.map((label, index) => [label, values[index]])
        yield [Object.fromEntries(labels), count]
      }
    }
  }
}
