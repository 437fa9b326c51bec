import { type Kysely, sql } from 'kysely'
import { readCursor, writeCursor } from '../database/cursors.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { eventsAfter, lastEventId } from '../events/queries.ts'
import { insertDeliveries } from './deliveries.ts'

const dispatchedPosition = 'webhooks.dispatched'
/** In one transaction; there are no more webhooks than this. */
const deliveriesPerRound = 1_000

/** Turns events up to the id `through` into deliveries, a bounded number at a time. */
export async function dispatchEvents(trx: Kysely<Tables>, now: number, through: number): Promise<void> {
  const rows = await trx.selectFrom('webhooks').selectAll().where('status', '<>', 'disabled').execute()
  const hooks = rows.map((row) => ({ ...row, wanted: new Set<string>(JSON.parse(row.events)) }))
  const limit = Math.max(1, Math.floor(deliveriesPerRound / Math.max(1, hooks.length)))
  const events = await eventsAfter(trx, await dispatchedThrough(trx), limit, true, through)
  const deliveries = events.flatMap(({ id, type, createdAt, data }) =>
    hooks
      .filter((hook) => id > hook.from_event_id && hook.wanted.has(type))
      .map((hook) => ({ webhookId: hook.id, eventId: id, eventType: type, eventAt: createdAt, data })),
  )
  if (deliveries.length > 0) await insertDeliveries(trx, deliveries, now)
  // Events may have been let go while nobody was there to dispatch them.
  await writeCursor(trx, dispatchedPosition, events.at(-1)?.id ?? (await lastEventId(trx, through)))
}

const selectWebhook = preparedQuery<[], { id: number }>((db) =>
  db.selectFrom('webhooks').select('id').where('status', '<>', sql.lit('disabled')).limit(sql.lit(1)),
)

/** Whether there is anybody to tell: without that, nothing is to be dispatched and nothing is due. */
export const hasActiveWebhooks = async (db: Kysely<Tables>): Promise<boolean> =>
  (await selectWebhook(db)).length > 0

export async function hasUndispatchedEvents(db: Kysely<Tables>, through: number): Promise<boolean> {
  return (await lastEventId(db, through)) > (await dispatchedThrough(db))
}

/** What came before every webhook there is need not be gone through; without any, nothing need. */
async function dispatchedThrough(db: Kysely<Tables>): Promise<number> {
  const { first } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.min('from_event_id').as('first'))
    .where('status', '<>', 'disabled')
    .executeTakeFirstOrThrow()
  return Math.max(await readCursor(db, dispatchedPosition), first ?? Number.MAX_SAFE_INTEGER)
}
