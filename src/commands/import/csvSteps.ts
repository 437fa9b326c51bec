import { actorText } from '../../actor.ts'
import { byCommand } from '../../audit/audit.ts'
import { recordAudit } from '../../audit/queries.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import { withoutControls } from '../../controlCharacters.ts'
import type { Database } from '../../database/database.ts'
import type { Db } from '../../database/db.ts'
import type { CsvFile } from '../../imports/csvFile.ts'
import { checkMissing, unlistedMax, unlistMissing } from '../../imports/missing.ts'
import type { PhotoCounts } from '../../imports/photos.ts'
import { counted } from '../cli.ts'
import { importAllPhotos } from './importPhotos.ts'
import type { ImportOptions } from './options.ts'

/** What an import of CSV has done besides adding and changing animals. */
export type CsvOutcome = {
  readonly newCategories?: readonly string[]
  /** Animals that were hidden, because the file does not have them any more. */
  readonly unlisted?: number
  readonly photos?: PhotoCounts
  /** The photos in the folder that no animal got. */
  readonly unusedPhotos?: readonly string[]
}

/** The animals that the file does not have any more. */
export const missingAnimals = (db: Db | undefined, file: CsvFile, options: ImportOptions) =>
  checkMissing(db, file, options, {
    externalId: '--missing unlist needs a column with the external id, by which animals are found again.',
    force: 'use --force',
  })

/** The part of the result that a dry run has too. */
export const csvOutcome = (
  { newCategories }: CsvFile,
  { missing }: ImportOptions,
  unlisted: number,
): CsvOutcome => ({
  ...(newCategories.length > 0 && { newCategories }),
  ...(missing === 'unlist' && { unlisted }),
})

/** What an import has done that is interrupted after the animals were added and changed. */
export function interruptedOutcome(
  { hasExternalIds }: CsvFile,
  { photos, photosFrom }: ImportOptions,
): string {
  const isLost = (photos || photosFrom !== undefined) && !hasExternalIds
  return `the animals are imported. Start the import again with the same file and options to continue with the rest${
    isLost ? '. Photos of animals without an external id cannot be continued' : ''
  }`
}

type Finish = {
  readonly database: Database
  readonly config: Config
  readonly csv: CsvFile
  readonly options: ImportOptions
  readonly signal: AbortSignal
}

/** What follows after the animals were added and changed. */
export async function finishCsv(
  { database, config, csv, options, signal }: Finish,
  missing: readonly number[],
): Promise<CsvOutcome> {
  const unlisted = await unlistAll(database, missing, csv.isEmpty, signal)
  if (!options.photos && options.photosFrom === undefined) return csvOutcome(csv, options, unlisted)
  const { counts, problems, unusedPhotos } = await importAllPhotos({
    database,
    staged: csv.staged,
    folder: options.photosFrom,
    allowed: config.webhookAllow,
    signal,
  })
  for (const problem of problems) console.error(withoutControls(problem))
  const more = counts.failed - problems.length
  if (more > 0) console.error(`${counted(more, 'more photo')} ${more === 1 ? 'was' : 'were'} left out.`)
  return {
    ...csvOutcome(csv, options, unlisted),
    photos: counts,
    ...(unusedPhotos.length > 0 && { unusedPhotos }),
  }
}

/** Hides the animals that the file does not have any more. Returns how many. */
async function unlistAll(
  database: Database,
  ids: readonly number[],
  isAudited: boolean,
  signal: AbortSignal,
): Promise<number> {
  let unlisted = 0
  for (let from = 0; from < ids.length; from += unlistedMax) {
    signal.throwIfAborted()
    unlisted += await database.write(async (trx) => {
      trx.actor = actorText({ command: 'import' })
      const now = systemClock()
      // Otherwise the first transaction with animals has recorded it.
      if (isAudited && from === 0)
        await recordAudit(trx, byCommand('import', now), 'database.imported', 'database')
      return unlistMissing(trx, ids.slice(from, from + unlistedMax), now)
    })
    await database.readableThrough()
  }
  return unlisted
}
