import { type Int64, parseInt64 } from '../../../client/src/index.ts'

/** Whether a text has the form of an id. */
export const isId = (text: string): boolean => /^\d{1,18}$/.test(text)

/** The id in an address. Nothing has the id 0. */
export const idInAddress = (text: string): Int64 => parseInt64(isId(text) ? text : '0')

type WithId = { readonly id: Int64 }

/** The order of lists. An id can be a bigint, so it is compared and not subtracted. */
export const newestFirst = (a: WithId, b: WithId): number => Number(a.id < b.id) - Number(a.id > b.id)
