/** Milliseconds since the Unix epoch. Passed down everywhere, so that tests decide what time it is. */
export type Clock = () => number

export const systemClock: Clock = Date.now

/** Times in bodies: RFC 3339, UTC, milliseconds. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()
