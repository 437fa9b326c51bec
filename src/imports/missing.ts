import type { Db, Trx } from '../database/db.ts'
import { findPetsWithProfiles, lockPets, recordProfileUpdates, saveProfile } from '../profiles/queries.ts'
import { FileError } from './csv/problem.ts'
import type { CsvFile } from './csvFile.ts'

/** What is read without a pause. */
const rowsPerRead = 1_000
/** The most animals that are unlisted in one transaction. */
export const unlistedMax = 200

export type MissingOptions = {
  readonly missing?: 'keep' | 'unlist' | undefined
  readonly force?: boolean | undefined
}

/** For messages. */
export type MissingAdvice = {
  /** Why the file needs a column with the external id. */
  readonly externalId: string
  /** How the file can be accepted, such as "use --force". */
  readonly force: string
}

/** The animals that the file does not have any more. Throws if the file is probably not the whole one. */
export async function checkMissing(
  db: Db | undefined,
  file: CsvFile,
  { missing = 'keep', force = false }: MissingOptions,
  advice: MissingAdvice,
): Promise<number[]> {
  const { columns } = file
  const isUnlisting = missing === 'unlist'
  const unless = `If that is right, ${advice.force}. Nothing was imported.`
  if ((isUnlisting || columns?.preset) && file.isEmpty && !force)
    throw new FileError(`The file has no animals. ${unless}`)
  if (!isUnlisting) return []
  if (!columns || !file.hasExternalIds) throw new FileError(`${advice.externalId} Nothing was imported.`)
  if (file.hasUnreadableLines && !force)
    throw new FileError(
      `The file has wrong lines without an external id, so it is not known which animals are missing. Correct them, or ${advice.force}. Nothing was imported.`,
    )
  if (!db) return []
  const found = await findMissing(db, columns.preset?.name ?? '', file)
  const count = found.missing.length
  if (isTooMuchMissing(found) && !force)
    throw new FileError(
      `The file lacks ${count} ${count === 1 ? 'animal' : 'animals'} of the ${found.offered} that are listed from it: more than half. It is probably not complete. ${unless}`,
    )
  return found.missing
}

/** The animals of a source that are offered here, and those among them that a later file does not have. */
async function findMissing(
  db: Db,
  source: string,
  { staged, pause }: CsvFile,
): Promise<{ offered: number; missing: number[] }> {
  const missing: number[] = []
  let offered = 0
  for (let after = 0; ; ) {
    // All animals, in the order of the ids: a query for those of a source could read many others without a pause.
    const rows = await db
      .selectFrom('pets')
      .leftJoin('profiles', 'profiles.pet_id', 'pets.id')
      .select(['pets.id', 'pets.external_id', 'pets.source', 'pets.status', 'profiles.listed'])
      .where('pets.id', '>', after)
      .orderBy('pets.id')
      .limit(rowsPerRead)
      .execute()
    for (const { id, external_id, status, listed, ...row } of rows) {
      const isOffered = row.source === source && external_id !== null && status !== 'sold' && listed !== 0
      if (!isOffered) continue
      offered++
      if (!staged.has(external_id)) missing.push(id)
    }
    if (rows.length < rowsPerRead) return { offered, missing }
    after = rows.at(-1)?.id as number
    await pause()
  }
}

/** Whether a file without these animals is probably not the whole file. */
const isTooMuchMissing = ({ offered, missing }: { offered: number; missing: readonly number[] }): boolean =>
  missing.length > offered / 2

/** Hides animals from listings until a later file has them again. Returns how many it has changed. */
export async function unlistMissing(trx: Trx, ids: readonly number[], now: number): Promise<number> {
  const locked = await lockPets(trx, ids)
  const animals = (await findPetsWithProfiles(trx, [...locked])).filter(
    // It may have found a home since the file was checked.
    ({ pet, profile }) => profile.listed && pet.status !== 'sold',
  )
  const changed = animals.map(({ pet }) => pet.id)
  if (changed.length === 0) return 0
  for (const { pet, profile } of animals) await saveProfile(trx, pet.id, { ...profile, listed: false })
  await trx
    .updateTable('profiles')
    .set({ missing_since: now })
    .where(trx.dialect.isIn('pet_id', changed))
    .execute()
  await recordProfileUpdates(trx, changed, now)
  return changed.length
}
