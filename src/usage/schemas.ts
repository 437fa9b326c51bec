import * as z from 'zod'
import { timestampSchema } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import type { UsageBucket } from './usage.ts'

const count = z.int().meta({ format: 'int64', minimum: 0 })
const usageBucket = z
  .object({
    at: timestampSchema('When the minute or hour starts.'),
    requests: count.meta({ description: 'Requests to the API, including rejected ones.' }),
    errors: count.meta({ description: 'Responses with a status of 500 or more.' }),
    rejected: z
      .record(z.string(), count)
      .meta({ description: 'Requests that were rejected with 401, 403 or 429, by error code.' }),
    deprecated: z
      .record(z.string(), count)
      .meta({ description: 'Uses of deprecated operations, by operation id.' }),
  })
  .meta({ id: 'UsageBucket', description: 'The requests of one minute or one hour.' })
const bucketExample = {
  at: '2026-11-15T12:03:00.000Z',
  requests: 61,
  errors: 0,
  rejected: { rate_limit_exceeded: 1 },
  deprecated: { getPet: 2 },
}
export const usageSchema = z
  .object({
    minutes: z
      .array(usageBucket)
      .meta({ description: 'The minutes of the last 24 hours that had requests, oldest first.' }),
    hours: z
      .array(usageBucket)
      .meta({ description: 'The hours of the last 30 days that had requests, oldest first.' }),
  })
  .meta({
    id: 'Usage',
    description: 'Requests over time.',
    examples: [
      {
        minutes: [bucketExample],
        hours: [{ ...bucketExample, at: '2026-11-15T12:00:00.000Z', requests: 143 }],
      },
    ],
  })

export const serializeBucket = (bucket: UsageBucket) => ({ ...bucket, at: timestamp(bucket.at) })
