import * as z from 'zod'
import { integer } from '../api/validation.ts'
import type { Db, Trx } from '../database/db.ts'
import { oneByOne, type RecordChange, type Resource } from '../records/resource.ts'
import {
  findStoredProfile,
  findStoreProfileForUpdate,
  storeProfileId,
  toStoreProfile,
  updateStoreProfile,
} from './queries.ts'
import { storedStoreName, storeProfileUpdateSchema } from './schemas.ts'
import { isSameStoreProfile, type StoreProfile, updatedStoreProfile } from './store.ts'

const schema = z.object({
  type: z.literal('store'),
  id: integer(storeProfileId, storeProfileId),
  ...storeProfileUpdateSchema.shape,
  name: storedStoreName.nullable().optional(),
})
type StoreRecord = z.output<typeof schema>

export const storeResource: Resource<StoreRecord, 'store_profile'> = {
  type: 'store',
  countName: 'storeProfiles',
  nouns: ['store profile', 'store profiles'],
  table: 'store_profile',
  idColumn: 'id',
  // Its events have no id, so its row is read in the last batch of an export.
  hasUnrecordedChanges: true,
  positions: [45],
  toRecords: (rows) => rows.map(toStoreProfile),
  schema,
  ...oneByOne(applyStoreProfile, findStoreProfileChange),
  stateOf: (record) => record,
}

/** What a record leaves out stays as it is. */
function applied(profile: StoreProfile, { type: _, id: __, ...change }: StoreRecord): StoreProfile {
  return updatedStoreProfile(profile, change)
}

async function findStoreProfileChange(db: Db, record: StoreRecord): Promise<RecordChange> {
  const profile = await findStoredProfile(db)
  if (!profile) return 'added'
  return isSameStoreProfile(applied(profile, record), profile) ? 'unchanged' : 'changed'
}

async function applyStoreProfile(trx: Trx, record: StoreRecord, now: number): Promise<[RecordChange]> {
  const change = await findStoreProfileChange(trx, record)
  const profile = await findStoreProfileForUpdate(trx)
  if (change !== 'unchanged') await updateStoreProfile(trx, applied(profile, record), now)
  return [change]
}
