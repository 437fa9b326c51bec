/** Counts events for each combination of label values. */
export class EventCounter {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  /** By the label values, one per line. */
  readonly #counts = new Map<string, number>()

  constructor(name: string, help: string, labels: readonly string[]) {
    this.name = name
    this.help = help
    this.labels = labels
  }

  increment(...values: readonly string[]): void {
    const key = values.join('\n')
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** The labels and the count of each combination. */
  *counts(): Generator<[labels: Record<string, string>, count: number]> {
    for (const [key, count] of this.#counts) {
      const values = key.split('\n')
      yield [Object.fromEntries(this.labels.map((label, index) => [label, values[index] ?? ''])), count]
    }
  }
}
