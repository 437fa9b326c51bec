import type { ComparedPosition, Trx } from '../database/db.ts'
import { deleteMetadata, listMetadata, writeMetadata } from '../database/metadata.ts'

/**
 * A webhook starts with the events that are committed after its registration. Where events get their ids later than
 * that, `from_event_id` is the last id so far, and the position in the log says which of the events without an id come
 * before the start. It is needed until an event after all of these has been dispatched.
 */
const namePrefix = 'webhooks.start.'
const nameOf = (webhookId: number): string => `${namePrefix}${webhookId}`

/** The webhook starts now. */
export async function recordWebhookStart(trx: Trx, webhookId: number): Promise<void> {
  const position = await trx.dialect.changeLogPositions?.current(trx)
  if (position !== undefined) await writeMetadata(trx, nameOf(webhookId), position)
}

export const deleteWebhookStart = (trx: Trx, webhookId: number): Promise<void> =>
  deleteMetadata(trx, nameOf(webhookId))

/** The events of a range of ids that come before the start of each webhook. Forgets the starts that are no longer needed. */
export async function eventsBeforeWebhookStarts(
  trx: Trx,
  after: number,
  through: number,
): Promise<ReadonlyMap<number, ComparedPosition>> {
  const { changeLogPositions } = trx.dialect
  if (!changeLogPositions || through <= after) return new Map()
  const rows = await listMetadata(trx, namePrefix)
  if (rows.length === 0) return new Map()
  const starts = rows.map(({ name, value }) => ({
    key: Number(name.slice(namePrefix.length)),
    position: value,
  }))
  const compared = await changeLogPositions.compare(trx, starts, after, through)
  for (const [webhookId, { isNoLongerNeeded }] of compared)
    if (isNoLongerNeeded) await deleteWebhookStart(trx, webhookId)
  return compared
}
