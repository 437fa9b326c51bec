import { defineOperation, type Operation, type ReadContext, respond } from '../api/operation.ts'
import { keyOrNotFound } from '../keys/routes.ts'
import { keyByIdOperation } from '../keys/schemas.ts'
import { findUsage } from './queries.ts'
import { serializeBucket, usageSchema } from './schemas.ts'
import { totalsKeyId } from './usage.ts'

const usageOperation = { tag: 'Usage', stability: 'beta', scope: 'keys:manage' } as const
const retention =
  'Figures are kept by minute for 24 hours and by hour for 30 days. Those of the last second may be missing, and those of other instances are up to 10 seconds old.'

/** Writes the counts of this instance to the database, so that figures read from it include them, at most once a second. */
type FlushUsage = () => Promise<void>

async function usageOf(keyId: number, { db, now }: ReadContext, flushUsage: FlushUsage) {
  await flushUsage()
  const { minutes, hours } = await findUsage(db, keyId, now)
  return respond(200, { minutes: minutes.map(serializeBucket), hours: hours.map(serializeBucket) })
}

const getUsageOperation = (flushUsage: FlushUsage) =>
  defineOperation('getUsage', 'GET /usage', {
    ...usageOperation,
    summary: 'Get the usage of all keys',
    description: `Includes requests without a valid key. ${retention}`,
    responses: { 200: { description: 'Requests over time.', schema: usageSchema } },
    read: (_input, context) => usageOf(totalsKeyId, context, flushUsage),
  })

const getKeyUsageOperation = (flushUsage: FlushUsage) =>
  defineOperation('getKeyUsage', 'GET /keys/{keyId}/usage', {
    ...keyByIdOperation,
    ...usageOperation,
    summary: 'Get the usage of a key',
    description: `${retention} A revoked key keeps its figures.`,
    responses: { 200: { description: 'The requests of the key over time.', schema: usageSchema } },
    async read({ params }, context) {
      const { id } = await keyOrNotFound(context.db, params.keyId)
      return usageOf(id, context, flushUsage)
    },
  })

export const usageRoutes = (flushUsage: FlushUsage): Operation[] => [
  getUsageOperation(flushUsage),
  getKeyUsageOperation(flushUsage),
]
