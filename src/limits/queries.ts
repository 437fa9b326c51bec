import type { Db, Trx } from '../database/db.ts'
import type { LimitState } from './window.ts'

export type KeyLimitState = { id: number; state: LimitState; lastUsedAt: number }

export async function findLimitState(db: Db, id: number): Promise<KeyLimitState | undefined> {
  const row = await db.selectFrom('key_usage').selectAll().where('key_id', '=', id).executeTakeFirst()
  if (!row) return undefined
  const state: LimitState = {
    minuteEndsAt: row.minute_ends_at,
    minuteUsed: row.minute_used,
    dayEndsAt: row.day_ends_at,
    dayUsed: row.day_used,
    rejections: row.rejections,
    rejectionsUntil: row.rejections_until,
    bannedAt: row.banned_at,
    bannedUntil: row.banned_until,
    banLevel: row.ban_level,
  }
  return { id, state, lastUsedAt: row.last_used_at }
}

export async function saveLimitStates(trx: Trx, entries: readonly KeyLimitState[]): Promise<void> {
  for (const { id, state, lastUsedAt } of entries) {
    const row = {
      minute_ends_at: state.minuteEndsAt,
      minute_used: state.minuteUsed,
      day_ends_at: state.dayEndsAt,
      day_used: state.dayUsed,
      rejections: state.rejections,
      rejections_until: state.rejectionsUntil,
      banned_at: state.bannedAt,
      banned_until: state.bannedUntil,
      ban_level: state.banLevel,
      last_used_at: lastUsedAt,
    }
    await trx
      .insertInto('key_usage')
      .values({ key_id: id, ...row })
      .onConflict((conflict) => conflict.column('key_id').doUpdateSet(row))
      .execute()
  }
}
