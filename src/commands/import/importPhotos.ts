import type { BlockList } from 'node:net'
import { systemClock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { ImportedAnimal } from '../../imports/animal.ts'
import { fetchPhoto, PhotoError } from '../../imports/fetchPhoto.ts'
import {
  hashedSource,
  importPhotos,
  isAddress,
  noPhotos,
  type PhotoCounts,
  type WantedPhoto,
} from '../../imports/photos.ts'
import type { StagedAnimal, StagedAnimals } from '../../imports/staging.ts'
import { findPetsOf } from '../../pets/importPets.ts'
import { PhotoDecoder } from '../../photos/decoder.ts'
import { Progress } from '../output/progress.ts'
import { PhotoFolder } from './photoFolder.ts'

/** Animals whose photos are fetched at the same time. One photo is decoded at a time. */
const concurrentMax = 4

/** The most photos that could not be imported that are listed. */
const listedMax = 20
const shownLengthMax = 100

type Options = {
  readonly database: Database
  readonly staged: StagedAnimals
  /** Otherwise the photos are fetched. */
  readonly folder: string | undefined
  /** Networks that are not public from which photos may be fetched. */
  readonly allowed: BlockList
  readonly signal: AbortSignal
}

type ImportedPhotos = {
  readonly counts: PhotoCounts
  /** Up to `listedMax`. */
  readonly problems: readonly string[]
  /** The photos in the folder that no animal got. */
  readonly unusedPhotos: readonly string[]
}

/** Imports the photos of all animals of a file, which have been imported. */
export async function importAllPhotos(options: Options): Promise<ImportedPhotos> {
  const { database, staged, signal } = options
  const problems: string[] = []
  const addProblem = (line: number, problem: string) => {
    if (problems.length < listedMax) problems.push(`Line ${line}: ${problem}`)
  }
  const photoFolder = options.folder === undefined ? undefined : new PhotoFolder(options.folder)
  const wantedOf = createSource(options, photoFolder)
  const total = noPhotos()
  using progress = new Progress('Importing photos')
  const decoder = new PhotoDecoder()
  const animals = withPhotos(staged, wantedOf)
  const work = async () => {
    for (let next = await animals.next(); !next.done; next = await animals.next()) {
      signal.throwIfAborted()
      const { line, wanted, ...animal } = next.value
      const petId = await petIdOf(database, animal)
      if (petId === undefined) {
        addProblem(line, `Its photos are left out. ${unknownAnimal}`)
        total.failed++
        continue
      }
      const onProblem = (source: string, reason: string) =>
        addProblem(line, `The photo ${shortened(source)} is left out. ${reason}`)
      const counts = await importPhotos({ database, decoder, clock: systemClock, onProblem }, petId, wanted)
      for (const name of Object.keys(counts) as (keyof PhotoCounts)[]) total[name] += counts[name]
      await database.readableThrough()
      progress.show(total.added + total.unchanged, 'photos')
    }
  }
  try {
    await Promise.all(Array.from({ length: concurrentMax }, work))
    return { counts: total, problems, unusedPhotos: photoFolder?.unused ?? [] }
  } finally {
    await decoder.stop()
  }
}

const unknownAnimal = 'The animal has no external id, so it is not known after an interruption.'

/** Without the hash. A cell can be a whole photo. */
const shortened = (source: string): string =>
  source.length > shownLengthMax ? `${source.slice(0, shownLengthMax)}…` : source.replace(/#.*$/, '')

type WithPhotos = Omit<StagedAnimal, 'line'> & {
  readonly line: number
  readonly wanted: readonly WantedPhoto[]
}

async function* withPhotos(
  staged: StagedAnimals,
  wantedOf: (animal: ImportedAnimal) => Promise<WantedPhoto[]>,
): AsyncGenerator<WithPhotos> {
  for (const some of staged.all())
    for (const each of some) {
      const wanted = await wantedOf(each.animal)
      if (wanted.length > 0) yield { ...each, wanted }
    }
}

/** An animal of a line that an interrupted import has applied before is found by its external id. */
async function petIdOf(database: Database, { animal, petId }: Omit<StagedAnimal, 'line'>) {
  if (petId !== null || animal.externalId === undefined) return petId ?? animal.id
  return (await findPetsOf(database.read, [animal]))[0]?.id
}

/** Where the photos of an animal come from. */
function createSource({ staged, allowed, signal }: Options, photoFolder: PhotoFolder | undefined) {
  if (photoFolder === undefined)
    return async ({ photos = [] }: ImportedAnimal) => photos.map((cell) => fetched(cell, allowed, signal))
  const names = new Map<string, number>()
  for (const some of staged.all())
    for (const { animal } of some) names.set(animal.name ?? '', (names.get(animal.name ?? '') ?? 0) + 1)
  return (animal: ImportedAnimal) => photoFolder.find(animal, names.get(animal.name ?? '') === 1)
}

const dataUri = /^data:image\/[a-z]+;base64,/i

/** The cell is an address, or the photo itself. */
function fetched(cell: string, allowed: BlockList, signal: AbortSignal): WantedPhoto {
  if (dataUri.test(cell)) {
    const bytes = Buffer.from(cell.replace(dataUri, ''), 'base64')
    return { source: hashedSource('data:', bytes), read: async () => bytes }
  }
  const read = async () => {
    if (!isAddress(cell) || !URL.canParse(cell))
      throw new PhotoError('It is not an address. --photos-from takes photos from a folder.')
    return fetchPhoto(cell, { allowed, signal })
  }
  return { source: cell, read }
}
