import * as z from 'zod'
import type { MessageDescription } from '../api/operation.ts'
import { type EventKind, eventExample, eventUnionSchema } from '../events/schemas.ts'
import { attemptTimeoutMs, retryDelaysMs, testEvent } from './webhook.ts'

const testData = z
  .object({ message: z.string().meta({ description: 'A text for people.' }) })
  .meta({ id: 'TestData', description: 'The data of a test message.' })

/** What webhooks receive, as `deliverer.ts` sends it. */
export function webhookMessage(kinds: readonly EventKind[]): MessageDescription {
  const schema = eventUnionSchema({
    name: 'WebhookMessage',
    description: 'What a webhook receives.',
    suffix: 'Message',
    kinds: [...kinds, { name: 'Test', types: [testEvent], data: testData }],
    fields: (type, data) => ({
      type,
      timestamp: z.iso.datetime().meta({ description: 'When it happened.' }),
      data,
    }),
  })
  const { type, createdAt: timestamp, data } = eventExample
  return {
    name: 'event',
    id: 'receiveEvent',
    summary: 'Receive an event',
    description: `Sent to each webhook for each event that it asks for, at least once: \`webhook-id\` is the same for every attempt. Verify the signature before you read the body (see https://www.standardwebhooks.com).`,
    schema,
    examples: {
      event: { type, timestamp, data },
      test: { type: testEvent, timestamp, data: { message: 'This is a test.' } },
    },
    headers: {
      'webhook-id': {
        description: 'The id of the message, for recognizing repetitions.',
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
          'One signature, or two separated by a space while a secret is being rotated: `v1,` and the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`.',
        schema: { type: 'string', pattern: '^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$' },
        example: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      },
    },
    responses: {
      '2XX': `The message was received. Respond within ${attemptTimeoutMs / 1000} seconds; the body is not read.`,
      '410': 'The webhook is disabled, and no more messages are sent.',
      default: `The attempt failed; a redirect is a failure too. It is repeated up to ${retryDelaysMs.length} times, then the webhook is disabled.`,
    },
  }
}
