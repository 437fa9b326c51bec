/** The time of the service, as far as its responses tell it. Countdowns are right on a machine with a wrong clock. */

/** The `Date` header has whole seconds and is a little old. */
const toleranceMs = 3_000

let offsetMs = 0

export function learnTime(dateHeader: string | null): void {
  const served = dateHeader === null ? Number.NaN : Date.parse(dateHeader)
  if (Number.isNaN(served)) return
  const offset = served - Date.now()
  offsetMs = Math.abs(offset) > toleranceMs ? offset : 0
}

export const now = (): number => Date.now() + offsetMs
