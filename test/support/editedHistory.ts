import assert from 'node:assert/strict'
import { checkHistory } from '../../reliability/histories/check/checkHistory.ts'
import type { Call, PromiseName } from '../../reliability/histories/history.ts'
import { callOf, type feed, goodHistory } from './sampleHistory.ts'

type Edit = (calls: Call[]) => Call[]

/** Replaces parts of a call. */
export const edit =
  (number: number, change: Partial<Call>): Edit =>
  (calls) =>
    calls.map((call) => (call.number === number ? { ...call, ...change } : call))
export const respond = (number: number, response: Call['response']) =>
  edit(number, { outcome: 'known', response: response as NonNullable<typeof response> })
export const add =
  (...line: Parameters<typeof callOf>[0]): Edit =>
  (calls) => [...calls, callOf(line)]
export const without =
  (...numbers: number[]): Edit =>
  (calls) =>
    calls.filter(({ number }) => !numbers.includes(number))
export const showFeed = (shown: typeof feed) => [
  respond(16, { status: 200, body: shown }),
  respond(18, { status: 200, body: shown }),
]
/** The same events with other positions. */
export const numbered = (entries: typeof feed) => entries.map((event, index) => ({ ...event, id: index + 1 }))

const edited = (...edits: Edit[]) => edits.reduce((calls, one) => one(calls), [...goodHistory])

export function assertAccepted(...edits: Edit[]): void {
  assert.deepEqual(checkHistory(edited(...edits)).problems, [])
}

/** The history is rejected because of this promise, with this message. */
export function assertRejected(promise: PromiseName, message: RegExp, ...edits: Edit[]): void {
  const { problems } = checkHistory(edited(...edits))
  const found = problems.filter((problem) => problem.promise === promise)
  assert.ok(
    found.some((problem) => message.test(problem.message)),
    `${promise} ${message} is not among ${JSON.stringify(problems, undefined, 1)}`,
  )
}
