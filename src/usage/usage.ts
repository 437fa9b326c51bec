/** Figures on the requests of each key over time: their names, buckets and retention, without HTTP and SQL. */

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Every request is counted in one bucket of each length. */
export const buckets = {
  minutes: { lengthMs: minuteMs, retentionMs: 24 * hourMs },
  hours: { lengthMs: hourMs, retentionMs: 30 * 24 * hourMs },
} as const

/** In place of the id of a key: the requests of all keys, and those without a valid key. */
export const totalsKeyId = 0

/** One count: `name` is `requests`, `errors`, or a kind and what it counts, such as `rejected.key_banned`. */
export type UsageRow = { key_id: number; bucket_ms: number; starts_at: number; name: string; count: number }

/** Whether a request was rejected because of its key, or because it had none. */
export const isRejection = (status: number): boolean => status === 401 || status === 403 || status === 429

export type UsageBucket = {
  at: number
  requests: number
  errors: number
  rejected: Record<string, number>
  deprecated: Record<string, number>
}

/** Buckets from their counts, which are in the order of their start. */
export function toBuckets(rows: readonly Pick<UsageRow, 'starts_at' | 'name' | 'count'>[]): UsageBucket[] {
  const found: UsageBucket[] = []
  for (const { starts_at: at, name, count } of rows) {
    let bucket = found.at(-1)
    if (bucket?.at !== at) {
      bucket = { at, requests: 0, errors: 0, rejected: {}, deprecated: {} }
      found.push(bucket)
    }
    const [kind, detail] = name.split('.') as [keyof UsageBucket, string | undefined]
    if (kind === 'requests' || kind === 'errors') bucket[kind] = count
    else if ((kind === 'rejected' || kind === 'deprecated') && detail !== undefined)
      bucket[kind][detail] = count
  }
  return found
}
