/** Numbers and times as text. */

export const formatCount = (count: number): string => count.toLocaleString('en')

/** "1 request", "1,200 requests". */
export const countOf = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

const dateTime = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
export const formatDateTime = (at: string | number): string => dateTime.format(new Date(at))

const time = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hour12: false })
export const formatTime = (at: number): string => time.format(at)

const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' })
export const formatDay = (at: number): string => day.format(at)
