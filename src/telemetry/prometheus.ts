type Label = string | number
type Labels = Readonly<Record<string, Label>>
type MetricType = 'counter' | 'gauge' | 'histogram'
/** One value of a metric. A histogram has several under one name, with suffixes. */
type Sample = readonly [labels: Labels, value: number, suffix?: string]

/** A metric in the text format of Prometheus. */
export function metricText(type: MetricType, name: string, help: string, samples: Iterable<Sample>): string {
  let text = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${type}\n`
  for (const [labels, value, suffix = ''] of samples)
    text += `${name}${suffix}${labelText(labels)} ${numberText(value)}\n`
  return text
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  )
  return pairs.length > 0 ? `{${pairs.join(',')}}` : ''
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

const numberText = (value: number): string =>
  String(value).replace(/^(-?)Infinity$/, (_, sign) => `${sign || '+'}Inf`)

/**
 * A value for each combination of up to two labels. In nested maps, because hashing the labels of every request takes 15 %
 * of the time of a read; see docs/performance.md.
 */
abstract class LabelledMetric<T> {
  readonly name: string
  readonly #labelNames: readonly string[]
  readonly #values = new Map<Label, Map<Label, T>>()

  constructor(name: string, ...labelNames: readonly string[]) {
    this.name = name
    this.#labelNames = labelNames
  }

  protected abstract readonly type: MetricType
  protected abstract create(): T
  protected abstract samples(value: T, labels: Labels): Sample[]

  protected valueFor(first: Label, second: Label): T {
    const existing = this.#values.get(first)?.get(second)
    if (existing !== undefined) return existing
    const value = this.create()
    this.#values.set(first, (this.#values.get(first) ?? new Map<Label, T>()).set(second, value))
    return value
  }

  text(help: string): string {
    // Shown before the first event, because there are no labels to learn from it.
    if (this.#labelNames.length === 0) this.valueFor('', '')
    const samples = [...this.#values].flatMap(([first, values]) =>
      [...values].flatMap(([second, value]) => {
        const labels = this.#labelNames.map((label, index) => [label, index === 0 ? first : second])
        return this.samples(value, Object.fromEntries(labels))
      }),
    )
    return metricText(this.type, this.name, help, samples)
  }
}

export class EventCounter extends LabelledMetric<{ count: number }> {
  protected readonly type = 'counter'
  protected create = () => ({ count: 0 })
  protected samples = ({ count }: { count: number }, labels: Labels): Sample[] => [[labels, count]]

  /** Shows these values of the only label with 0 before their first event. Prometheus sees no increase in a first sample. */
  startAtZero(values: Iterable<Label>): this {
    for (const value of values) this.valueFor(value, '')
    return this
  }

  increment(first: Label = '', second: Label = ''): void {
    this.valueFor(first, second).count++
  }
}

/** The last one ends every search. */
const bucketBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, Infinity]
type Durations = { readonly counts: number[]; sum: number }

export class DurationHistogram extends LabelledMetric<Durations> {
  protected readonly type = 'histogram'
  protected create = (): Durations => ({ counts: bucketBounds.map(() => 0), sum: 0 })

  observe(seconds: number, first: Label, second: Label): void {
    const durations = this.valueFor(first, second)
    let bucket = 0
    while (seconds > (bucketBounds[bucket] as number)) bucket++
    ;(durations.counts[bucket] as number)++
    durations.sum += seconds
  }

  protected samples({ counts, sum }: Durations, labels: Labels): Sample[] {
    let count = 0
    const buckets = bucketBounds.map((bound, index): Sample => {
      count += counts[index] ?? 0
      return [{ le: numberText(bound), ...labels }, count, '_bucket']
    })
    return [...buckets, [labels, sum, '_sum'], [labels, count, '_count']]
  }
}
