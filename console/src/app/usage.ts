import type { Usage, UsageBucket } from '../../../client/src/index.ts'

/** Turns the figures of the API, which leave out times without requests, into the bars of a chart. */

const minuteMs = 60_000
const hourMs = 60 * minuteMs

type UsageRange = {
  name: string
  /** The length of a bar, in words. */
  step: string
  stepMs: number
  count: number
  source: keyof Usage
}

export const usageRanges = {
  hour: { name: '1 hour', step: 'minute', stepMs: minuteMs, count: 60, source: 'minutes' },
  day: { name: '24 hours', step: '15 minutes', stepMs: 15 * minuteMs, count: 96, source: 'minutes' },
  month: { name: '30 days', step: '12 hours', stepMs: 12 * hourMs, count: 60, source: 'hours' },
} as const satisfies Record<string, UsageRange>
export type RangeName = keyof typeof usageRanges

export type UsageBar = { at: number; requests: number; rejected: number; errors: number }

const sum = (counts: Record<string, number>) =>
  Object.values(counts).reduce((total, count) => total + count, 0)

/** The bars of a range up to now, oldest first, including those without requests. */
export function usageBars(usage: Usage, range: UsageRange, now: number): UsageBar[] {
  const { stepMs, count, source } = range
  const first = (Math.floor(now / stepMs) - count + 1) * stepMs
  const bars = Array.from({ length: count }, (_, index) => ({
    at: first + index * stepMs,
    requests: 0,
    rejected: 0,
    errors: 0,
  }))
  for (const bucket of usage[source]) {
    const bar = bars[Math.floor((Date.parse(bucket.at) - first) / stepMs)]
    if (!bar) continue
    bar.requests += bucket.requests
    bar.rejected += sum(bucket.rejected)
    bar.errors += bucket.errors
  }
  return bars
}

export const totalOf = (bars: readonly UsageBar[]): Omit<UsageBar, 'at'> => ({
  requests: bars.reduce((total, { requests }) => total + requests, 0),
  rejected: bars.reduce((total, { rejected }) => total + rejected, 0),
  errors: bars.reduce((total, { errors }) => total + errors, 0),
})

/** The counts of one kind over all buckets, largest first. */
export function countsOf(
  buckets: readonly UsageBucket[],
  kind: 'rejected' | 'deprecated',
): [name: string, count: number][] {
  const totals = new Map<string, number>()
  for (const bucket of buckets)
    for (const [name, count] of Object.entries(bucket[kind]))
      totals.set(name, (totals.get(name) ?? 0) + count)
  return [...totals].sort(([, a], [, b]) => b - a)
}
