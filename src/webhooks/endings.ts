import type { RawBuilder } from 'kysely'
import type { Clock } from '../clock.ts'
import { writeCursor } from '../database/cursors.ts'
import type { Database } from '../database/database.ts'
import type { SqlDialect } from '../database/dialect.ts'
import type { Db } from '../database/tables.ts'
import type { Delivery } from './deliveries.ts'
import { deleteWebhook } from './queries.ts'
import { deleteStart } from './start.ts'
import { deletedStatus } from './webhook.ts'

/**
 * A webhook that is disabled, deleted or loses event types ends pending deliveries, of which there may be millions. The
 * change records up to which delivery they are ended. From then on none of them is attempted, and steps of a bounded
 * number of rows end them, the newest first: see docs/decisions/0035-bounded-webhook-work.md.
 */
export type Ending = {
  readonly eventType: string
  /** The id of the newest delivery that is to be ended. */
  readonly through: number
}

/** The rows that one transaction reads and ends. */
export const endedPerStepMax = 1_000

/** In the place of an event type. */
const allTypes = 'all'

const namePrefix = 'webhooks.ending.'
const prefixOf = (webhookId: number): string => `${namePrefix}${webhookId}.`

/** The endings of a webhook that are under way. */
export async function findEndings(db: Db, webhookId: number): Promise<Ending[]> {
  const prefix = prefixOf(webhookId)
  const rows = await endingRows(db, prefix).select(['name', 'value']).execute()
  return rows.map(({ name, value }) => ({ eventType: name.slice(prefix.length), through: value }))
}

const endingRows = (db: Db, prefix: string) => db.selectFrom('cursors').where('name', 'like', `${prefix}%`)

/** Why a pending delivery is not attempted any more. Undefined if it is. */
export function endReason(endings: readonly Ending[], delivery: Delivery): string | undefined {
  const ending = endings.find(
    ({ eventType, through }) =>
      delivery.id <= through && (eventType === allTypes || eventType === delivery.event_type),
  )
  return ending && reasonOf(ending)
}

const reasonOf = ({ eventType }: Ending): string =>
  eventType === allTypes ? 'The webhook was disabled.' : 'The webhook was changed.'

/** The delivery as it is after the endings that are under way. */
export function afterEndings(endings: readonly Ending[], delivery: Delivery): Delivery {
  const reason = delivery.next_attempt_at === null ? undefined : endReason(endings, delivery)
  return reason === undefined ? delivery : { ...delivery, ...ended(reason, delivery.finished_at) }
}

export const ended = (reason: string, now: number | null) => ({
  status: 'failed',
  next_attempt_at: null,
  finished_at: now,
  last_error: reason,
})

/**
 * Ends the pending deliveries of these event types, of all types by default. The webhook is locked, and so is the
 * dispatch, which could create more of them. The first step runs in the transaction of the change.
 */
export async function beginEnding(
  trx: Db,
  dialect: SqlDialect,
  webhookId: number,
  now: number,
  eventTypes: readonly string[] = [allTypes],
): Promise<void> {
  const newest = await deliveriesThrough(trx, dialect, webhookId, Number.MAX_SAFE_INTEGER).executeTakeFirst()
  for (const eventType of eventTypes)
    await writeCursor(trx, `${prefixOf(webhookId)}${eventType}`, newest?.id ?? 0)
  await endSome(trx, dialect, webhookId, now)
}

/** The newest deliveries of a webhook up to this id. */
const deliveriesThrough = (db: Db, dialect: SqlDialect, webhookId: number, through: number) =>
  db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where(dialect.keysetRange('webhook_id', webhookId, 0, through))
    .orderBy('webhook_id', 'desc')
    .orderBy('id', 'desc')
    .limit(1)

/** Takes one step. Returns whether there is more to do. A webhook that was deleted loses its deliveries, then its row. */
export async function endSome(
  trx: Db,
  dialect: SqlDialect,
  webhookId: number,
  now: number,
): Promise<boolean> {
  // Before its endings are read: other instances take steps, and a change may add endings.
  const webhook = await trx
    .selectFrom('webhooks')
    .select('status')
    .where('id', '=', webhookId)
    .forUpdate()
    .executeTakeFirst()
  const endings = await findEndings(trx, webhookId)
  if (endings.length === 0) return false
  const isDeleted = webhook?.status === deletedStatus
  const through = Math.max(...endings.map((ending) => ending.through))
  const oldest = await deliveriesThrough(trx, dialect, webhookId, through)
    .offset(endedPerStepMax - 1)
    .executeTakeFirst()
  const from = oldest?.id ?? 0
  const isInStep = (to: number) => dialect.keysetRange('webhook_id', webhookId, from, to)
  if (isDeleted) {
    await trx.deleteFrom('webhook_deliveries').where(isInStep(through)).execute()
  } else {
    for (const ending of endings)
      if (ending.through >= from) await endWhere(trx, ending, isInStep(ending.through), now)
  }
  if (oldest) {
    const rest = trx.updateTable('cursors').set({ value: from - 1 })
    await rest
      .where('name', 'like', `${prefixOf(webhookId)}%`)
      .where('value', '>=', from)
      .execute()
    return true
  }
  await trx
    .deleteFrom('cursors')
    .where('name', 'like', `${prefixOf(webhookId)}%`)
    .execute()
  if (isDeleted) {
    await deleteStart(trx, webhookId)
    await deleteWebhook(trx, webhookId)
  }
  return false
}

async function endWhere(trx: Db, ending: Ending, isInStep: RawBuilder<boolean>, now: number): Promise<void> {
  const { eventType } = ending
  await trx
    .updateTable('webhook_deliveries')
    .set(ended(reasonOf(ending), now))
    .where(isInStep)
    .where('next_attempt_at', 'is not', null)
    .$if(eventType !== allTypes, (query) => query.where('event_type', '=', eventType))
    .execute()
}

/** Continues all endings until they are complete or the service stops. */
export async function continueEndings(
  { read, dialect, writeUnlogged }: Database,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const rows = await endingRows(read, namePrefix).select('name').execute()
  const webhookIds = new Set(rows.map(({ name }) => Number(name.slice(namePrefix.length).split('.')[0])))
  for (const webhookId of webhookIds) {
    while (!signal.aborted && (await writeUnlogged((trx) => endSome(trx, dialect, webhookId, clock())))) {
      // There are more.
    }
  }
}
