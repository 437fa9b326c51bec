import * as z from 'zod'
import { pageSchema } from '../api/pagination.ts'
import { int64, optionalText, timestampSchema } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import { auditActions } from './audit.ts'
import type { AuditRow } from './queries.ts'

const actor = z
  .object({
    keyId: int64().optional().meta({ description: 'The API key that made the change.' }),
    command: optionalText('The command that made the change. `serve` is the service itself.'),
  })
  .meta({ id: 'AuditActor', description: 'Who made a change: either an API key or a command.' })
const action = z.string().meta({
  description: `What was done. This is an open list: ${auditActions.map((name) => `\`${name}\``).join(', ')}.`,
})
const auditEntryExample = {
  id: 12,
  at: '2026-11-15T12:00:00.000Z',
  actor: { keyId: 1 },
  action: 'key.created',
  subject: 'key 5',
  requestId: 'GrPCeMO4NQaKv1BnxNFYXw',
}
const auditEntry = z
  .object({
    id: int64().meta({ description: 'Rises with every entry.' }),
    at: timestampSchema('When the change was made.'),
    actor,
    action,
    subject: z.string().meta({ description: 'What was changed, such as `key 5`.' }),
    requestId: optionalText('The `X-Request-Id` of the request. Absent for a command.'),
  })
  .meta({ id: 'AuditEntry', description: 'A change that was made.', examples: [auditEntryExample] })
export const auditLogSchema = pageSchema(auditEntry, 'AuditLog', 'the audit log, newest first')

/** For responses. Undefined fields are left out of the JSON. */
export const serializeEntry = (row: AuditRow) => ({
  id: row.id,
  at: timestamp(row.at),
  actor: row.actor_key_id === null ? { command: row.actor_command ?? '' } : { keyId: row.actor_key_id },
  action: row.action,
  subject: row.subject,
  requestId: row.request_id ?? undefined,
})
