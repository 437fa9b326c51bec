import { type Call, describeCall } from '../history.ts'
import { petText } from './animal.ts'
import { isSuccess, petIn, requestOf } from './requests.ts'

/** The responses below 500 that each request can get, besides a success. */
const errorsOf: Record<string, readonly string[]> = {
  get: ['pet_not_found'],
  change: ['pet_not_found', 'precondition_failed', 'pet_has_open_order', 'illegal_transition'],
  remove: ['pet_not_found', 'precondition_failed', 'pet_has_open_order'],
  place: ['pet_not_found', 'pet_unavailable'],
  move: ['order_not_found', 'illegal_transition'],
}

export function checkResponses(calls: readonly Call[]): string[] {
  const problems: string[] = []
  const contents = new Map<string, string>()
  for (const call of calls) {
    const { kind } = requestOf(call)
    const { status = 0, body, etag } = call.response ?? {}
    const { code = '' } = (body ?? {}) as { code?: string }
    const isExpected =
      call.response === undefined ||
      status < 300 ||
      status === 503 ||
      code === 'idempotency_in_progress' ||
      errorsOf[kind]?.includes(code)
    if (!isExpected) problems.push(`An unexpected response: ${describeCall(call)}`)
    if (!isSuccess(call) || etag === undefined || !['create', 'get', 'change'].includes(kind)) continue
    const text = petText(petIn(call))
    const other = contents.get(etag)
    if (other !== undefined && other !== text)
      problems.push(`The ETag ${etag} was given to ${other} before: ${describeCall(call)}`)
    contents.set(etag, text)
  }
  return problems
}

/** All responses to requests with the same key are the first one. */
export function checkReplays(calls: readonly Call[]): string[] {
  const problems: string[] = []
  const keyed = calls.filter(
    ({ idempotencyKey, outcome }) => idempotencyKey !== undefined && outcome === 'known',
  )
  for (const [key, group] of Map.groupBy(keyed, ({ path, idempotencyKey }) => `${path} ${idempotencyKey}`)) {
    const [first, ...others] = group as [Call, ...Call[]]
    for (const other of others)
      if (contentOf(other) !== contentOf(first))
        problems.push(`Two different responses to ${key}: ${describeCall(first)} and ${describeCall(other)}`)
    const original = group.filter(({ response }) => response?.isReplayed !== true)
    if (original.length > 1)
      problems.push(`The request was done twice: ${original.map(describeCall).join(' and ')}`)
  }
  return problems
}

const contentOf = ({ response }: Call) => JSON.stringify([response?.status, response?.etag, response?.body])

/** Two changes that were made of the same version: the second one has overwritten the first one. */
export function checkIfMatch(calls: readonly Call[]): string[] {
  const made = calls.filter((call) => {
    const { kind } = requestOf(call)
    return call.ifMatch !== undefined && isSuccess(call) && (kind === 'change' || kind === 'remove')
  })
  return Map.groupBy(made, ({ path, ifMatch }) => `${path} ${ifMatch}`)
    .values()
    .filter((group) => group.length > 1)
    .map((group) => `Several changes of one version were made: ${group.map(describeCall).join(' and ')}`)
    .toArray()
}
