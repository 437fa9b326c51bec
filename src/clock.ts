/** Milliseconds since the Unix epoch. Passed down everywhere, so that tests decide what time it is. */
export type Clock = () => number

export const systemClock: Clock = Date.now

/** Times in bodies: RFC 3339, UTC, milliseconds. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()
export const optionalTimestamp = (ms: number | null | undefined): string | undefined =>
  ms === null || ms === undefined ? undefined : timestamp(ms)

/** RFC 3339 has four digits for the year: no time outside of this can be shown. */
export const timeMinMs = Date.parse('0000-01-01T00:00:00.000Z')
export const timeMaxMs = Date.parse('9999-12-31T23:59:59.999Z')
