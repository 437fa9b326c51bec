/** Numbers and times as text. */

export const formatCount = (count: number): string => count.toLocaleString('en')

/** "1 request", "1,200 requests". */
export const pluralize = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`

export const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** "pet.created and 2 more" */
export const summarizeList = ([first = '', ...rest]: readonly string[]): string =>
  rest.length === 0 ? first : `${first} and ${rest.length} more`

const dateTime = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })
export const formatDateTime = (at: string | number): string => dateTime.format(new Date(at))

const time = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hour12: false })
export const formatTime = (at: number): string => time.format(at)

const day = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' })
export const formatDay = (at: number): string => day.format(at)
