import type { ComparedPosition, SqlDialect } from '../database/dialect.ts'
import { writeMetadata } from '../database/metadata.ts'
import type { Db } from '../database/tables.ts'

/**
 * A webhook starts with the events that are committed after its registration. Where events get their ids later than
 * that, `from_event_id` is the last id so far, and the position in the log says which of the events without an id come
 * before the start. It is needed until an event after all of these has been dispatched.
 */
const namePrefix = 'webhooks.start.'
const nameOf = (webhookId: number) => `${namePrefix as 'webhooks.start.'}${webhookId}` as const

/** The webhook starts now. */
export async function recordStart(trx: Db, dialect: SqlDialect, webhookId: number): Promise<void> {
  const position = await dialect.logPositions?.current(trx)
  if (position !== undefined) await writeMetadata(trx, nameOf(webhookId), position)
}

export async function deleteStart(trx: Db, webhookId: number): Promise<void> {
  await trx.deleteFrom('metadata').where('name', '=', nameOf(webhookId)).execute()
}

/** The events of a range of ids that come before the start of each webhook. Forgets the starts that have been passed. */
export async function eventsBeforeStarts(
  trx: Db,
  { logPositions }: SqlDialect,
  after: number,
  through: number,
): Promise<ReadonlyMap<number, ComparedPosition>> {
  if (!logPositions || through <= after) return new Map()
  const rows = await trx
    .selectFrom('metadata')
    .select(['name', 'value as position'])
    .where('name', 'like', `${namePrefix}%`)
    .execute()
  if (rows.length === 0) return new Map()
  const starts = rows.map(({ name, position }) => ({ key: Number(name.slice(namePrefix.length)), position }))
  const compared = await logPositions.compare(trx, starts, after, through)
  for (const [webhookId, { isPassed }] of compared) if (isPassed) await deleteStart(trx, webhookId)
  return compared
}
