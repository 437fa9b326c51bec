import { toJson } from '../api/json.ts'
import type { Db, Trx } from '../database/db.ts'
import { recordEvent } from '../events/queries.ts'
import { emptyStoreProfile, type StoreProfile } from './storeProfile.ts'

/** The table has no other row. */
export const storeProfileId = 1

/** The fields that an earlier version did not store have their defaults. */
export const parseStoreProfile = (data: string): StoreProfile => ({
  ...emptyStoreProfile,
  ...JSON.parse(data),
})

const storedProfile = (db: Db) => db.selectFrom('store_profile').select('data')

/** The store's own data, with defaults for what was never set. */
export async function findStoreProfile(db: Db): Promise<StoreProfile> {
  const row = await storedProfile(db).executeTakeFirst()
  return row ? parseStoreProfile(row.data) : emptyStoreProfile
}

export const hasStoreProfile = async (db: Db): Promise<boolean> =>
  (await storedProfile(db).executeTakeFirst()) !== undefined

/** The same, locked until the end of the transaction. */
export async function findStoreProfileForUpdate(trx: Trx): Promise<StoreProfile> {
  // A row that does not exist cannot be locked.
  await trx
    .insertInto('store_profile')
    .values({ id: storeProfileId, data: '{}' })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await storedProfile(trx).forUpdate().executeTakeFirstOrThrow()
  return parseStoreProfile(row.data)
}

/** Stores the profile, which is locked. The event has no data, because partners read events. */
export async function updateStoreProfile(trx: Trx, profile: StoreProfile, now: number): Promise<void> {
  await trx.send(trx.updateTable('store_profile').set({ data: toJson(profile) }))
  await recordEvent(trx, now, 'store.updated', {})
}
