import { metricText } from './prometheus.ts'

/** The name of a metric, what it says, and the names of up to two labels. */
type Description = readonly [name: string, help: string, labels: readonly string[]]
type Label = string | number

/**
 * A value for each combination of labels. In nested maps, because hashing the labels of every request takes 15 % of the time
 * of a read; see docs/performance.md.
 */
class LabelledValues<T> {
  readonly #create: () => T
  readonly #values = new Map<Label, Map<Label, T>>()

  constructor(create: () => T) {
    this.#create = create
  }

  get(first: Label, second: Label): T {
    return getOrCreate(getOrCreate(this.#values, first, newMap<Label, T>), second, this.#create)
  }

  *entries(names: readonly string[]): Generator<[labels: Record<string, Label>, value: T]> {
    for (const [first, values] of this.#values) {
      for (const [second, value] of values) {
        const labels = names.map((name, index) => [name, index === 0 ? first : second])
        yield [Object.fromEntries(labels), value]
      }
    }
  }
}

const newMap = <K, V>() => new Map<K, V>()

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = create()
    map.set(key, value)
  }
  return value
}

/** Counts events by up to two labels. */
export class EventCounter {
  readonly #description: Description
  readonly #counts = new LabelledValues(() => ({ count: 0 }))

  constructor(...description: Description) {
    this.#description = description
    // Shown before the first event, because there are no labels to learn from it.
    if (description[2].length === 0) this.#counts.get('', '')
  }

  increment(first = '', second = ''): void {
    this.#counts.get(first, second).count++
  }

  text(): string {
    const [name, help, labelNames] = this.#description
    const samples = this.#counts.entries(labelNames).map(([labels, { count }]) => [labels, count] as const)
    return metricText('counter', name, help, samples)
  }
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Counts durations by up to two labels and by bucket. */
export class DurationHistogram {
  readonly #description: Description
  readonly #series = new LabelledValues(() => ({ counts: Array(buckets.length + 1).fill(0), sum: 0 }))

  constructor(...description: Description) {
    this.#description = description
  }

  observe(seconds: number, first: Label, second: Label): void {
    const series = this.#series.get(first, second)
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket++
    series.counts[bucket]++
    series.sum += seconds
  }

  text(): string {
    const [name, help, labelNames] = this.#description
    const samples = this.#series.entries(labelNames).flatMap(([labels, { counts, sum }]) => {
      let count = 0
      const bucketSamples = counts.map((counted, index) => {
        count += counted
        return [{ le: buckets[index] ?? '+Inf', ...labels }, count, '_bucket'] as const
      })
      return [...bucketSamples, [labels, sum, '_sum'] as const, [labels, count, '_count'] as const]
    })
    return metricText('histogram', name, help, samples)
  }
}
