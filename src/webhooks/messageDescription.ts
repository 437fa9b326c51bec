import * as z from 'zod'
import type { MessageDescription } from '../api/operation.ts'
import { timestampSchema } from '../api/validation.ts'
import { type EventKind, eventExample, eventUnionSchema } from '../events/schemas.ts'
import { attemptTimeoutMs, retryDelaysMs, testEventType } from './webhook.ts'

const testData = z
  .object({ message: z.string().meta({ description: 'A human-readable text.' }) })
  .meta({ id: 'TestData', description: 'The data of a test message.' })

/** Describes the messages that `send.ts` sends. */
export function webhookMessage(kinds: readonly EventKind[]): MessageDescription {
  const schema = eventUnionSchema({
    name: 'WebhookMessage',
    description: 'A message to a webhook.',
    suffix: 'Message',
    kinds: [...kinds, { name: 'Test', types: [testEventType], data: testData }],
    fields: (type, data) => ({
      type,
      timestamp: timestampSchema('When the event occurred.'),
      data,
    }),
  })
  const { type, createdAt: timestamp, data } = eventExample
  return {
    name: 'event',
    id: 'receiveEvent',
    summary: 'Receive an event',
    description:
      'Sent at least once for each event of the types that the webhook selects. `webhook-id` is the same for every attempt. Verify the signature before you process the body (see https://www.standardwebhooks.com).',
    schema,
    examples: {
      event: { type, timestamp, data },
      test: { type: testEventType, timestamp, data: { message: 'This is a test.' } },
    },
    headers: {
      'webhook-id': {
        description: 'The id of the message. Use it to detect duplicates.',
        schema: { type: 'string', pattern: '^msg_(test_)?[0-9]+$' },
        example: `msg_${eventExample.id}`,
      },
      'webhook-timestamp': {
        description: 'Unix timestamp (seconds) of the attempt.',
        schema: { type: 'integer', format: 'int64', minimum: 0 },
        example: 1794744000,
      },
      'webhook-signature': {
        description:
          'One signature, or two separated by a space during a rotation. A signature is `v1,` followed by the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`.',
        schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$' },
        example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      },
    },
    responses: {
      '2XX': `The message was received. Respond within ${attemptTimeoutMs / 1000} seconds. The body of the response is ignored.`,
      '410': 'The webhook is disabled and receives no more messages.',
      default: `The attempt failed. Redirects count as failures. It is retried up to ${retryDelaysMs.length} times, then the webhook is disabled.`,
    },
  }
}
