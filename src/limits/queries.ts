import type { Db, Trx } from '../database/db.ts'
import type { LimitState } from './window.ts'

export type KeyLimitState = { id: number; state: LimitState; lastUsedAt: number }

export async function findLimitState(db: Db, id: number): Promise<KeyLimitState | undefined> {
  const row = await db.selectFrom('key_usage').selectAll().where('key_id', '=', id).executeTakeFirst()
  if (!row) return undefined
  const { key_id: _, last_used_at: lastUsedAt, ...state } = row
  return { id, state, lastUsedAt }
}

export async function saveLimitStates(trx: Trx, entries: readonly KeyLimitState[]): Promise<void> {
  for (const { id, state, lastUsedAt } of entries) {
    const row = { ...state, last_used_at: lastUsedAt }
    await trx
      .insertInto('key_usage')
      .values({ key_id: id, ...row })
      .onConflict((conflict) => conflict.column('key_id').doUpdateSet(row))
      .execute()
  }
}
