const weekMs = 7 * 86_400_000

export const counted = (count: number, unit: string): string =>
  `${count}\u00a0${unit}${count === 1 ? '' : 's'}`

/** The age as people say it: "5 weeks", "15 months" or "About 2 years". */
export function describeAge(birthDate: string, isEstimated: boolean | null, now: number): string {
  return `${isEstimated ? 'About ' : ''}${exactAge(birthDate, now)}`
}

function exactAge(birthDate: string, now: number): string {
  const born = new Date(birthDate)
  const today = new Date(now)
  const years = today.getUTCFullYear() - born.getUTCFullYear()
  const isBeforeDay = today.getUTCDate() < born.getUTCDate()
  const months = years * 12 + today.getUTCMonth() - born.getUTCMonth() - Number(isBeforeDay)
  if (months < 3) return counted(Math.max(Math.floor((now - born.getTime()) / weekMs), 0), 'week')
  return months < 24 ? counted(months, 'month') : counted(Math.floor(months / 12), 'year')
}
