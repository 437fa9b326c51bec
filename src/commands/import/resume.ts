import type { Db, Trx } from '../../database/db.ts'

/** An import that was not continued for this long is forgotten. */
const retentionMs = 30 * 24 * 60 * 60 * 1000

/** The last line of the file that an interrupted import has committed; 0 if there is none. */
export async function committedLine(db: Db, digest: string): Promise<number> {
  const row = await db.selectFrom('imports').select('line').where('digest', '=', digest).executeTakeFirst()
  return row?.line ?? 0
}

/** To be called in the transaction that writes the lines after `previous`. Fails if another import has written them. */
export async function recordLine(
  trx: Trx,
  digest: string,
  { previous, line }: { readonly previous: number; readonly line: number },
  now: number,
): Promise<void> {
  const recorded =
    previous === 0
      ? await trx
          .insertInto('imports')
          .values({ digest, line, updated_at: now })
          .onConflict((conflict) => conflict.column('digest').doNothing())
          .returning('line')
          .executeTakeFirst()
      : await trx
          .updateTable('imports')
          .set({ line, updated_at: now })
          .where('digest', '=', digest)
          .where('line', '=', previous)
          .returning('line')
          .executeTakeFirst()
  // Two imports of one file would add its animals twice.
  if (!recorded) throw new Error('Another import of this file is running, or has just ended.')
}

/** The import has ended. Also removes the records of imports that were not continued. */
export async function forgetImport(trx: Trx, digest: string, now: number): Promise<void> {
  await trx
    .deleteFrom('imports')
    .where(({ eb, or }) => or([eb('digest', '=', digest), eb('updated_at', '<', now - retentionMs)]))
    .execute()
}
