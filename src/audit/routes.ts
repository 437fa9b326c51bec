import * as z from 'zod'
import { defineOperation, type Operation } from '../api/operation.ts'
import { ListCursor, pageQuery, pageReader } from '../api/pagination.ts'
import { listAuditEntries } from './queries.ts'
import { auditLogSchema, serializeEntry } from './schemas.ts'

export const listAuditEntriesOperation: Operation = defineOperation('listAuditEntries', 'GET /audit', {
  tag: 'Audit',
  stability: 'beta',
  scope: 'keys:manage',
  summary: 'List the audit log',
  description:
    'Changes of keys and webhooks, bans, erasures of customer data, imports and restores, newest first. Entries are kept for 400 days.',
  query: z.object(pageQuery),
  responses: { 200: { description: 'One page of the audit log.', schema: auditLogSchema } },
  read: pageReader(new ListCursor('audit'), listAuditEntries, serializeEntry),
})
