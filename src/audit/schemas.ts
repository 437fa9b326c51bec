import * as z from 'zod'
import { int64, timestampSchema } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import { type AuditEntry, auditActions } from './audit.ts'

const actor = z
  .object({
    keyId: int64().optional().meta({ description: 'The API key that made the change.' }),
    command: z
      .string()
      .optional()
      .meta({ description: 'The command that made the change. `serve` is the service itself.' }),
  })
  .meta({ id: 'AuditActor', description: 'Who made a change: either an API key or a command.' })
const action = z.string().meta({
  description: `What was done. This is an open list: ${auditActions.map((name) => `\`${name}\``).join(', ')}.`,
})
const auditEntry = z
  .object({
    id: int64().meta({ description: 'Rises with every entry.' }),
    at: timestampSchema('When the change was made.'),
    actor,
    action,
    subject: z.string().meta({ description: 'What was changed, such as `key 5`.' }),
    requestId: z
      .string()
      .optional()
      .meta({ description: 'The `X-Request-Id` of the request. Absent for a command.' }),
  })
  .meta({
    id: 'AuditEntry',
    description: 'A change that was made.',
    examples: [
      {
        id: 12,
        at: '2026-11-15T12:00:00.000Z',
        actor: { keyId: 1 },
        action: 'key.created',
        subject: 'key 5',
        requestId: 'GrPCeMO4NQaKv1BnxNFYXw',
      },
    ],
  })
export const auditLogSchema = z
  .array(auditEntry)
  .meta({ id: 'AuditLog', description: 'One page of the audit log, newest first.' })

export const serializeEntry = (entry: AuditEntry) => ({ ...entry, at: timestamp(entry.at) })
