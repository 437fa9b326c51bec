const name = 'petstore_request_duration_seconds'
const help = 'Time to respond to a request of the API, by operation and status.'
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Series = { readonly counts: number[]; sum: number }

/**
 * A Prometheus histogram of request latencies, by operation and status. That of prom-client takes 15 % of the time of a
 * read, because it hashes the labels of every request; see docs/performance.md.
 */
export class LatencyHistogram {
  readonly #byOperation = new Map<string, Map<number, Series>>()

  observe(operation: string, status: number, seconds: number): void {
    const series = this.#seriesOf(operation, status)
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket++
    series.counts[bucket] = (series.counts[bucket] as number) + 1
    series.sum += seconds
  }

  /** In the text format of Prometheus. */
  text(): string {
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
    for (const [operation, byStatus] of this.#byOperation) {
      for (const [status, { counts, sum }] of byStatus) {
        const labels = `operation="${operation}",status="${status}"`
        let count = 0
        for (const [index, counted] of counts.entries()) {
          count += counted
          lines.push(`${name}_bucket{le="${buckets[index] ?? '+Inf'}",${labels}} ${count}`)
        }
        lines.push(`${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${count}`)
      }
    }
    return `${lines.join('\n')}\n`
  }

  #seriesOf(operation: string, status: number): Series {
    let byStatus = this.#byOperation.get(operation)
    if (!byStatus) {
      byStatus = new Map()
      this.#byOperation.set(operation, byStatus)
    }
    let series = byStatus.get(status)
    if (!series) {
      series = { counts: Array(buckets.length + 1).fill(0), sum: 0 }
      byStatus.set(status, series)
    }
    return series
  }
}
