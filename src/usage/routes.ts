import { orNotFound } from '../api/errors.ts'
import { defineOperation, type Operation, respond } from '../api/operation.ts'
import type { Database } from '../database/database.ts'
import { findKey } from '../keys/queries.ts'
import { keyByIdOperation, keyErrors } from '../keys/schemas.ts'
import { findUsage } from './queries.ts'
import { serializeBucket, usageSchema } from './schemas.ts'
import { totalsKeyId } from './usage.ts'

const usageOperation = { tag: 'Usage', stability: 'beta', scope: 'keys:manage' } as const
const retention =
  'Figures are kept by minute for 24 hours and by hour for 30 days. Those of the last second may be missing, and those of other instances are up to 10 seconds old.'

type UsageRoutesOptions = {
  readonly database: Database
  /** Writes the counts of this instance to the database, so that figures read from it include them, at most once a second. */
  flushUsage(): Promise<void>
}

async function usageOf({ database, flushUsage }: UsageRoutesOptions, keyId: number, now: number) {
  await flushUsage()
  const { minutes, hours } = await findUsage(database.read, keyId, now)
  return respond(200, { minutes: minutes.map(serializeBucket), hours: hours.map(serializeBucket) })
}

const getUsageOperation = (options: UsageRoutesOptions) =>
  defineOperation('getUsage', 'GET /usage', {
    ...usageOperation,
    summary: 'Get the usage of all keys',
    description: `Includes requests without a valid key. ${retention}`,
    responses: { 200: { description: 'Requests over time.', schema: usageSchema } },
    read: (_input, { now }) => usageOf(options, totalsKeyId, now),
  })

const getKeyUsageOperation = (options: UsageRoutesOptions) =>
  defineOperation('getKeyUsage', 'GET /keys/{keyId}/usage', {
    ...keyByIdOperation,
    ...usageOperation,
    summary: 'Get the usage of a key',
    description: `${retention} A revoked key keeps its figures.`,
    responses: { 200: { description: 'The requests of the key over time.', schema: usageSchema } },
    async read({ params }, { now }) {
      const { id } = orNotFound(
        await findKey(options.database.read, Number(params.keyId)),
        keyErrors.key_not_found,
      )
      return usageOf(options, id, now)
    },
  })

export const usageRoutes = (options: UsageRoutesOptions): Operation[] => [
  getUsageOperation(options),
  getKeyUsageOperation(options),
]
