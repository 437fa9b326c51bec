import type { Kysely } from 'kysely'
import { readPosition, writePosition } from '../database/positions.ts'
import type { Tables } from '../database/tables.ts'
import type { EventType, StoreEvent } from '../events/event.ts'
import { eventsAfter, lastEventId } from '../events/queries.ts'
import { insertDelivery } from './deliveries.ts'
import type { WebhookRow } from './queries.ts'

const dispatchedPosition = 'webhooks.dispatched'
const eventsPerRound = 200

/** Turns events into deliveries, a bounded number at a time. */
export async function dispatchEvents(trx: Kysely<Tables>, now: number): Promise<void> {
  const hooks = await trx.selectFrom('webhooks').selectAll().where('status', '<>', 'disabled').execute()
  const events = await eventsAfter(trx, await dispatchedThrough(trx), eventsPerRound, true)
  for (const event of events) {
    for (const hook of hooks) {
      if (!wants(hook, event)) continue
      await insertDelivery(trx, hook.id, event.id, event.type, event.createdAt, event.data, now)
    }
  }
  // Events may have been let go while nobody was there to dispatch them.
  await writePosition(trx, dispatchedPosition, events.at(-1)?.id ?? (await lastEventId(trx)))
}

export async function hasUndispatched(db: Kysely<Tables>): Promise<boolean> {
  return (await lastEventId(db)) > (await dispatchedThrough(db))
}

/** What came before every webhook there is need not be gone through; without any, nothing need. */
async function dispatchedThrough(db: Kysely<Tables>): Promise<number> {
  const { first } = await db
    .selectFrom('webhooks')
    .select(({ fn }) => fn.min('from_event_id').as('first'))
    .where('status', '<>', 'disabled')
    .executeTakeFirstOrThrow()
  return Math.max(await readPosition(db, dispatchedPosition), first ?? Number.POSITIVE_INFINITY)
}

function wants(hook: WebhookRow, event: StoreEvent): boolean {
  return event.id > hook.from_event_id && (JSON.parse(hook.events) as EventType[]).includes(event.type)
}
