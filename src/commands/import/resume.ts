import type { Db } from '../../database/tables.ts'

/** An import that was not continued for this long is forgotten. */
const retentionMs = 30 * 24 * 60 * 60 * 1000

/** The last line of the file that an interrupted import has committed; 0 if there is none. */
export async function committedLine(db: Db, digest: string): Promise<number> {
  const row = await db.selectFrom('imports').select('line').where('digest', '=', digest).executeTakeFirst()
  return row?.line ?? 0
}

/** To be called in the transaction that writes the lines. */
export async function recordLine(trx: Db, digest: string, line: number, now: number): Promise<void> {
  await trx
    .insertInto('imports')
    .values({ digest, line, updated_at: now })
    .onConflict((conflict) => conflict.column('digest').doUpdateSet({ line, updated_at: now }))
    .execute()
}

/** The import has ended. Also removes the records of imports that were not continued. */
export async function forgetImport(trx: Db, digest: string, now: number): Promise<void> {
  await trx
    .deleteFrom('imports')
    .where(({ eb, or }) => or([eb('digest', '=', digest), eb('updated_at', '<', now - retentionMs)]))
    .execute()
}
