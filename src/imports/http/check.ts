import type { Database } from '../../database/database.ts'
import { PetConflicts } from '../../pets/conflicts.ts'
import { petIdentities } from '../../pets/importPets.ts'
import { previewAnimals, toAnimalRecord } from '../applyAnimals.ts'
import type { Columns } from '../columns.ts'
import { describeOtherFormat } from '../csv/otherFormats.ts'
import { FileError, type Problem } from '../csv/problem.ts'
import { readText } from '../csv/readText.ts'
import { CsvFile, type CsvOptions } from '../csvFile.ts'
import { checkMissing, type MissingOptions, unlistedMax } from '../missing.ts'
import { isExcluded } from '../presets.ts'
import type { StagedAnimal } from '../staging.ts'
import { type ImportColumn, type ImportJob, noImportCounts, previewedMax, withProblem } from './job.ts'
import { createPace } from './pace.ts'
import { addBatches, type PlacedBatch } from './queries.ts'

/** The command has no such limit. */
const linesMax = 100_000
/** What is read without a pause. */
const sliceBytes = 8 * 1024
/** Other requests wait while the animals of a batch are applied. */
const animalsPerBatch = 50
const batchesPerWrite = 20

export type CheckOptions = Pick<CsvOptions, 'map' | 'from' | 'dateOrder' | 'currency' | 'createCategories'> &
  MissingOptions

/** Where an uploaded file is checked, and what its animals are stored with. */
type CheckContext = {
  readonly database: Database
  readonly id: string
  readonly now: number
  /** Called in each pause of the work. Throws an error to end it. */
  assertWanted(): void
}

/** Recognizes and checks a file, and stores its animals in batches. It changes no animal. Throws a `FileError`. */
export async function checkUpload(
  context: CheckContext,
  bytes: Uint8Array,
  options: CheckOptions,
): Promise<ImportJob> {
  const { now, assertWanted } = context
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const problem = describeOtherFormat(buffer.subarray(0, sliceBytes), 'csv', { withExample: false })
  if (problem !== undefined) throw new FileError(problem)
  const pace = createPace()
  const pause = async () => {
    await pace()
    assertWanted()
  }
  const file = new CsvFile({
    ...options,
    allowsMissingColumns: true,
    categoryAdvice: 'createCategories adds it',
    columnAdvice: () => 'Choose a column for it.',
    ...{ now, pause },
  })
  const conflicts = new PetConflicts()
  try {
    return await checkFile({ ...context, file, conflicts, options, pause }, buffer)
  } finally {
    file.close()
    conflicts.close()
  }
}

type FileContext = CheckContext & {
  readonly file: CsvFile
  readonly conflicts: PetConflicts
  readonly options: CheckOptions
  pause(): Promise<void>
}

async function checkFile(context: FileContext, buffer: Buffer): Promise<ImportJob> {
  const { database, id, now, file, conflicts, options, pause } = context
  let wrong: Pick<ImportJob, 'wrong' | 'wrongLines'> = { wrong: 0, wrongLines: [] }
  const onProblem = (problem: Problem) => {
    wrong = withProblem(wrong, problem)
  }
  await file.read(readText(slices(buffer, pause)), onProblem, (lines) => {
    if (lines > linesMax)
      throw new FileError(`The file has more than ${linesMax} lines. Import it with "petstore import".`)
  })
  if (!file.columns) throw new FileError('The file has no header.')
  const highestId = await file.complete(onProblem, (line, { id, externalId, source }) =>
    conflicts.add(line, { id, externalId, source, name: '', categoryId: 0n }),
  )
  const wrongLines = await file.findUnknownCategories(database.read, onProblem)
  const conflictContext = { db: database.read, committed: 0, now, hasRecord: () => false, pause }
  for await (const found of conflicts.find(conflictContext)) {
    onProblem(found)
    wrongLines.add(found.line)
  }
  const missing = await checkMissing(database.read, file, options, {
    externalId:
      'To unlist animals, the file needs a column with the external id, by which animals are found again.',
    force: 'use "force"',
  })
  const isWanted = ({ line }: StagedAnimal) => !wrongLines.has(line)
  const batches = new BatchWriter(database, id)
  const stored = await storeAnimals(file, isWanted, { database, batches, pause })
  await batches.addMissing(missing)
  await batches.flush()
  return {
    from: file.columns.preset?.name ?? null,
    columns: columnsOf(file.columns),
    createCategories: options.createCategories,
    newCategories: file.newCategories,
    highestId,
    ...stored,
    total: stored.total + missing.length,
    expected: { ...stored.expected, unlisted: missing.length },
    ...wrong,
    done: 0,
    result: noImportCounts(),
    actor: null,
    worker: null,
  }
}

async function* slices(buffer: Buffer, pause: () => Promise<void>): AsyncGenerator<Buffer> {
  for (let from = 0; from < buffer.length; from += sliceBytes) {
    yield buffer.subarray(from, from + sliceBytes)
    // Not only after each row, because a long line has many slices.
    await pause()
  }
}

function columnsOf({ headings, used, preset }: Columns): ImportColumn[] {
  return headings.flatMap((heading, at) => {
    const fields = used.find((column) => column.at === at)?.fields ?? []
    const excluded = preset !== undefined && isExcluded(preset, heading)
    return heading === '' ? [] : { heading, fields, excluded }
  })
}

type StoreContext = {
  readonly database: Database
  readonly batches: BatchWriter
  pause(): Promise<void>
}

/** Stores the animals, and finds out what an import would do with them. */
async function storeAnimals(
  { staged, categoryIds }: CsvFile,
  isWanted: (animal: StagedAnimal) => boolean,
  { database, batches, pause }: StoreContext,
): Promise<Pick<ImportJob, 'total' | 'expected' | 'animals'>> {
  const expected = noImportCounts()
  const previewed: ImportJob['animals'][number][] = []
  const seen = new Set<number | string>()
  let total = 0
  for (const all of staged.all())
    for (let from = 0; from < all.length; from += animalsPerBatch) {
      const some = all.slice(from, from + animalsPerBatch).filter(isWanted)
      const records = some.map(({ animal }) => toAnimalRecord(animal, categoryIds))
      const previews = await previewAnimals(database.read, records)
      for (const [at, { line, animal }] of some.entries()) {
        const preview = previews[at] as (typeof previews)[number]
        const identities = petIdentities({ ...animal, name: '', categoryId: 0n })
        // An earlier line adds the animal.
        const isSeen = identities.length > 0 && seen.has(identities[0] as number | string)
        for (const identity of identities) seen.add(identity)
        expected[isSeen && preview.change === 'added' ? 'changed' : preview.change]++
        const { name = '', category = '' } = animal
        if (previewed.length < previewedMax) previewed.push({ line, name, category, ...preview })
      }
      total += some.length
      await batches.addAnimals(some)
      await pause()
    }
  return { total, expected, animals: previewed }
}

/** Stores batches, several in one transaction. */
class BatchWriter {
  readonly #database: Database
  readonly #id: string
  #waiting: PlacedBatch[] = []
  #next = 0

  constructor(database: Database, id: string) {
    this.#database = database
    this.#id = id
  }

  async addAnimals(animals: readonly StagedAnimal[]): Promise<void> {
    const first = animals[0]
    if (!first) return
    const stored = animals.map(({ line, animal: { photos: _, kind: __, ...animal } }) => ({ line, animal }))
    await this.#add(first.line, { animals: stored })
    this.#next = (animals.at(-1)?.line ?? 0) + 1
  }

  async addMissing(ids: readonly number[]): Promise<void> {
    for (let from = 0; from < ids.length; from += unlistedMax)
      await this.#add(this.#next + from, { missing: ids.slice(from, from + unlistedMax) })
  }

  async #add(position: number, batch: PlacedBatch['batch']): Promise<void> {
    this.#waiting.push({ position, batch })
    if (this.#waiting.length >= batchesPerWrite) await this.flush()
  }

  async flush(): Promise<void> {
    const batches = this.#waiting
    this.#waiting = []
    if (batches.length > 0) await this.#database.writeUnlogged((trx) => addBatches(trx, this.#id, batches))
  }
}
