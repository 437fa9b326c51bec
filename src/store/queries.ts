import { toJson } from '../api/json.ts'
import type { Db, Trx } from '../database/db.ts'
import { firstOf } from '../database/preparedQuery.ts'
import { recordEvent } from '../events/queries.ts'
import { emptyStoreProfile, type StoreProfile } from './store.ts'

/** The table has no other row. */
export const storeProfileId = 1

/** The fields that an earlier version did not store have their defaults. */
export const toStoreProfile = ({ data }: { data: string }): StoreProfile => ({
  ...emptyStoreProfile,
  ...JSON.parse(data),
})

const storedProfile = (db: Db) => db.selectFrom('store_profile').select('data')

/** Undefined before the first change. */
export const findStoredProfile = (db: Db) => firstOf(storedProfile(db), toStoreProfile)

/** The store's own data, with defaults for what was never set. */
export const findStoreProfile = async (db: Db): Promise<StoreProfile> =>
  (await findStoredProfile(db)) ?? emptyStoreProfile

/** The same, locked until the end of the transaction. */
export async function findStoreProfileForUpdate(trx: Trx): Promise<StoreProfile> {
  // A row that does not exist cannot be locked.
  await trx
    .insertInto('store_profile')
    .values({ id: storeProfileId, data: '{}' })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return toStoreProfile(await storedProfile(trx).forUpdate().executeTakeFirstOrThrow())
}

/** Stores the profile, which is locked. The event has no data, because partners read events. */
export async function updateStoreProfile(trx: Trx, profile: StoreProfile, now: number): Promise<void> {
  await trx.send(trx.updateTable('store_profile').set({ data: toJson(profile) }))
  await recordEvent(trx, now, 'store.updated', {})
}
