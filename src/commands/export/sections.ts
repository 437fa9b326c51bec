import { type SelectQueryBuilder, sql } from 'kysely'
import { toJson } from '../../api/json.ts'
import { lastAssignedCategoryId } from '../../categories/queries.ts'
import type { Db } from '../../database/db.ts'
import type { Tables } from '../../database/tables.ts'
import { isOpenOrderStatus, type OrderStatus } from '../../orders/order.ts'

export type RecordType = 'category' | 'order' | 'pet' | 'key'

/** A line of the export. */
export type ExportLine = {
  readonly id: number | bigint
  /** Open orders come after the pets, all others before. */
  readonly isOpen: boolean
  readonly text: string
}

/** The lines of some rows: the next ones after an id, in the order of their ids, or those with the given ids. */
type Selection =
  | { readonly after: number | bigint | undefined }
  | { readonly ids: readonly (number | bigint)[] }

export type Section = { readonly type: RecordType; read(db: Db, selection: Selection): Promise<ExportLine[]> }

/** The most rows that one query reads. */
export const pageRowsMax = 2_000

function select<T extends keyof Tables, O>(
  db: Db,
  query: SelectQueryBuilder<Tables, T, O>,
  idColumn: string,
  selection: Selection,
): Promise<O[]> {
  const id = sql.ref<number | bigint>(idColumn)
  if ('ids' in selection) return query.where(db.dialect.isIn(idColumn, selection.ids)).execute()
  const page = query.orderBy(id).limit(pageRowsMax)
  return (selection.after === undefined ? page : page.where(id, '>', selection.after)).execute()
}

export const categories: Section = {
  type: 'category',
  async read(db, selection) {
    const rows = await select(db, db.selectFrom('categories').selectAll(), 'category_id', selection)
    return rows.map(({ category_id: id, name }) => line({ type: 'category', id, name }))
  },
}

export const pets: Section = {
  type: 'pet',
  async read(db, selection) {
    const rows = await select(db, db.selectFrom('pets').selectAll(), 'id', selection)
    return rows.map(({ id, name, category_id: categoryId, status, external_id: externalId }) =>
      line({ type: 'pet', id, name, categoryId, status, ...(externalId !== null && { externalId }) }),
    )
  },
}

export const orders: Section = {
  type: 'order',
  async read(db, selection) {
    const rows = await select(db, db.selectFrom('orders').selectAll(), 'id', selection)
    return rows.map((row) => {
      const customer =
        row.customer_name === null
          ? null
          : { name: row.customer_name, email: row.customer_email ?? undefined }
      const record = {
        type: 'order',
        id: row.id,
        petId: row.pet_id,
        status: row.status,
        customer,
        note: row.note,
        placedAt: row.placed_at,
        updatedAt: row.updated_at,
        holdExpiresAt: row.hold_expires_at,
        cancelReason: row.cancel_reason,
      }
      return line(record, isOpenOrderStatus(row.status as OrderStatus))
    })
  },
}

export const keys: Section = {
  type: 'key',
  async read(db, selection) {
    const rows = await select(db, db.selectFrom('api_keys').selectAll(), 'id', selection)
    const secrets = await secretsOf(
      db,
      rows.map(({ id }) => id),
    )
    return rows.map((row) =>
      line({
        type: 'key',
        id: row.id,
        name: row.name,
        plan: row.plan,
        perMinute: row.per_minute,
        perDay: row.per_day,
        streams: row.streams,
        scopes: JSON.parse(row.scopes),
        origins: JSON.parse(row.origins),
        isFromSetting: row.from_setting === 1,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
        revokedAt: row.revoked_at,
        unbannedAt: row.unbanned_at,
        secrets: secrets.get(row.id) ?? [],
      }),
    )
  },
}

type Secret = { hash: string; createdAt: number; expiresAt: number | null }

async function secretsOf(db: Db, keyIds: readonly number[]): Promise<Map<number, Secret[]>> {
  const secrets = new Map<number, Secret[]>(keyIds.map((id) => [id, []]))
  if (keyIds.length === 0) return secrets
  const rows = await db
    .selectFrom('api_key_secrets')
    .select(['key_id', 'hash', 'created_at as createdAt', 'expires_at as expiresAt'])
    .where(db.dialect.isIn('key_id', keyIds))
    .orderBy('created_at')
    .orderBy('hash')
    .execute()
  for (const { key_id, ...secret } of rows) secrets.get(key_id)?.push(secret)
  return secrets
}

const line = (record: { id: number | bigint; [name: string]: unknown }, isOpen = false): ExportLine => ({
  id: record.id,
  isOpen,
  text: toJson(record),
})

/**
 * The order of the lines matters to an import: closed orders release their pets before the records of the pets set the
 * status, and open orders find their pets.
 */
export const fileOrder: readonly { section: Section; isOpen: boolean }[] = [
  { section: categories, isOpen: false },
  { section: orders, isOpen: false },
  { section: pets, isOpen: false },
  { section: orders, isOpen: true },
  { section: keys, isOpen: false },
]

/** All lines in the order of the file, from one snapshot. */
export async function* readLines(db: Db, withKeys: boolean): AsyncGenerator<string> {
  for (const { section, isOpen } of fileOrder) {
    if (section === keys && !withKeys) continue
    for await (const lines of readPages((after) => section.read(db, { after })))
      for (const line of lines) if (line.isOpen === isOpen) yield line.text
  }
}

/** The pages of a section. */
export async function* readPages(
  readPage: (after: number | bigint | undefined) => Promise<ExportLine[]>,
): AsyncGenerator<ExportLine[]> {
  let page = await readPage(undefined)
  while (page.length === pageRowsMax) {
    yield page
    page = await readPage(page.at(-1)?.id)
  }
  yield page
}

export type Counters = Awaited<ReturnType<typeof readCounters>>

export const readCounters = async (db: Db) => ({
  lastPetId: await db.dialect.lastAssignedId(db, 'pets'),
  lastKeyId: await db.dialect.lastAssignedId(db, 'api_keys'),
  lastCategoryId: await lastAssignedCategoryId(db),
  lastOrderId: await db.dialect.lastAssignedId(db, 'orders'),
  lastEventId: await db.dialect.lastAssignedId(db, 'events'),
})
