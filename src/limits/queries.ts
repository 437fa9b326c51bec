import type { Db, Trx } from '../database/db.ts'
import type { Usage } from './window.ts'

export type KeyUsage = { id: number; usage: Usage; lastUsedAt: number }

export async function findUsage(db: Db, id: number): Promise<KeyUsage | undefined> {
  const row = await db.selectFrom('key_usage').selectAll().where('key_id', '=', id).executeTakeFirst()
  if (!row) return undefined
  const usage: Usage = {
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
  return { id, usage, lastUsedAt: row.last_used_at }
}

export async function saveUsage(trx: Trx, entries: readonly KeyUsage[]): Promise<void> {
  for (const { id, usage, lastUsedAt } of entries) {
    const row = {
      minute_ends_at: usage.minuteEndsAt,
      minute_used: usage.minuteUsed,
      day_ends_at: usage.dayEndsAt,
      day_used: usage.dayUsed,
      rejections: usage.rejections,
      rejections_until: usage.rejectionsUntil,
      banned_at: usage.bannedAt,
      banned_until: usage.bannedUntil,
      ban_level: usage.banLevel,
      last_used_at: lastUsedAt,
    }
    await trx
      .insertInto('key_usage')
      .values({ key_id: id, ...row })
      .onConflict((conflict) => conflict.column('key_id').doUpdateSet(row))
      .execute()
  }
}
