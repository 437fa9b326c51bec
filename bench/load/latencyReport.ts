import { percentile } from '../statistics.ts'

export type LatencyReport = { readonly requests: number; readonly p50Ms: number; readonly p99Ms: number }

/** Prints the latencies as one line of JSON. */
export function printLatencies(timesMs: readonly number[]): void {
  const report: LatencyReport = {
    requests: timesMs.length,
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
  }
  console.log(JSON.stringify(report))
}

/** The first responses, from a reader whose code is not compiled yet, do not count. */
export const warmUpMs = 400
