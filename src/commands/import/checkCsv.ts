import { createHash } from 'node:crypto'
import { actorText } from '../../actor.ts'
import { systemClock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { ImportedAnimal } from '../../imports/animal.ts'
import { type AnimalRecord, toAnimalRecord } from '../../imports/applyAnimals.ts'
import { readText } from '../../imports/csv/readText.ts'
import { CsvFile } from '../../imports/csvFile.ts'
import type { PetRecord } from '../../pets/record.ts'
import type { Resource, ResourceRecord } from '../../records/resource.ts'
import { defaultResource } from '../../resources.ts'
import { Progress } from '../output/progress.ts'
import type { CheckContext, CheckedFile } from './checkFile.ts'
import type { Problems } from './problems.ts'
import type { Batch, CsvReadOptions, ReadOptions } from './records.ts'

export const openCsv = ({ map, externalId }: ReadOptions, csv: CsvReadOptions): CsvFile =>
  new CsvFile({
    ...{ map, externalId, ...csv },
    categoryAdvice: '--create-categories adds new ones',
    columnAdvice: (field) => `Use --map HEADER=${field}.`,
    now: systemClock(),
  })

/** Validates every line of CSV. */
export async function checkCsv(file: CsvFile, context: CheckContext): Promise<CheckedFile> {
  const { input, options, conflicts, problems, signal } = context
  using progress = new Progress('Checking')
  const hash = createHash('sha256').update(JSON.stringify({ ...options, map: [...options.map] }))
  const chunks = readText(input.open(), (bytes) => void hash.update(bytes))
  await file.read(chunks, problems.add, (lines, bytes) => {
    signal.throwIfAborted()
    progress.show(lines, 'lines', bytes / input.bytes)
  })
  const highestId = await file.complete(problems.add, (line, { id, externalId, source }) => {
    const record = { id, externalId, source }
    conflicts.add(defaultResource.type, line, record)
  })
  const highestIds = new Map<Resource, number>(highestId > 0 ? [[defaultResource, highestId]] : [])
  return {
    digest: hash.digest('hex'),
    highestIds,
    batches: () => batchesOf(file, options.csv?.hasPhotos ?? false),
  }
}

/** The records to apply. With `hasPhotos`, the ids of all animals are needed afterwards. */
async function* batchesOf({ staged, categoryIds }: CsvFile, hasPhotos: boolean): AsyncGenerator<Batch> {
  for (const animals of staged.all()) {
    const batch: Batch = { records: [], lines: [], problems: [], bytes: 0 }
    for (const { line, animal } of animals) {
      const record = toAnimalRecord(animal, categoryIds)
      batch.records.push(hasPhotos || hasProfile(animal) ? record : record.pet)
      batch.lines.push(line)
    }
    yield batch
  }
}

/** An animal without anything but the fields of a pet is a pet, of which many are applied at once. */
const hasProfile = ({ profile, approximateBirth }: ImportedAnimal): boolean =>
  profile !== undefined || approximateBirth !== undefined

/** Notes the ids of the animals, for their photos, and what could not be stored. */
export const appliedTo =
  ({ staged }: CsvFile, problems: Problems) =>
  (records: readonly ResourceRecord[], lines: readonly number[]): void => {
    for (const [at, record] of (records as readonly (PetRecord | AnimalRecord)[]).entries()) {
      if (!('petId' in record)) continue
      const line = lines[at] as number
      staged.setPetId(line, record.petId as number)
      if (record.problem !== undefined) problems.add({ line, reason: record.problem })
    }
  }

/** Adds the categories that are missing. */
export async function addCategories(file: CsvFile, database: Database): Promise<void> {
  if (file.newCategories.length === 0) return
  await database.write((trx) => {
    trx.actor = actorText({ command: 'import' })
    return file.addCategories(trx, systemClock())
  })
}
