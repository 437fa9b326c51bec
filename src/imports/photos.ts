import { createHash } from 'node:crypto'
import { actorText } from '../actor.ts'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import { DecoderUnavailableError } from '../photos/decodeQueue.ts'
import type { PhotoDecoder } from '../photos/decoder.ts'
import {
  type DecodedPhoto,
  photoSourceLengthMax,
  photosPerPetMax,
  unsupportedReason,
} from '../photos/photo.ts'
import { addPhoto, type PhotoRow, photosOf, removePhoto, updatePhoto } from '../photos/queries.ts'
import { lockPets } from '../profiles/queries.ts'
import { PhotoError } from './fetchPhoto.ts'

/** A photo that could not be decoded in time is decoded again: the machine may have been busy. */
const decodeAttemptsMax = 3

/** A photo that a file names. */
export type WantedPhoto = {
  /** What identifies it: an address, or a file and the hash of its content. */
  readonly source: string
  read(): Promise<Uint8Array>
}

export type PhotoCounts = { added: number; unchanged: number; removed: number; failed: number }
export const noPhotos = (): PhotoCounts => ({ added: 0, unchanged: 0, removed: 0, failed: 0 })

type PhotoImportOptions = {
  readonly database: Database
  readonly decoder: PhotoDecoder
  readonly clock: Clock
  onProblem(source: string, reason: string): void
}

export const isAddress = (cell: string): boolean => /^https?:\/\//i.test(cell)

/** The source of a photo that has no address. */
export const hashedSource = (name: string, bytes: Uint8Array): string =>
  `${name}#${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}`

/** Photos of one kind replace each other. Those of a folder do not replace those of addresses. */
const isOfFolder = (source: string): boolean => source.startsWith('file:')

/**
 * Adds the photos of an animal that it does not have yet. Imported photos that are no longer wanted are removed, unless a
 * new one failed. Photos that were uploaded stay.
 */
export async function importPhotos(
  options: PhotoImportOptions,
  petId: number,
  all: readonly WantedPhoto[],
): Promise<PhotoCounts> {
  const { database, clock, onProblem } = options
  const wanted = all.slice(0, photosPerPetMax)
  const sources = wanted.map(({ source }) => source)
  const counts = noPhotos()
  for (const { source } of all.slice(photosPerPetMax))
    fail(source, `An animal can have ${photosPerPetMax} photos.`)
  function fail(source: string, reason: string) {
    counts.failed++
    onProblem(source, reason)
  }
  const isStale = ({ source }: PhotoRow) =>
    source !== null && !sources.includes(source) && isOfFolder(source) === isOfFolder(sources[0] ?? '')
  const stored = new Set((await photosOf(database.read, petId)).map(({ source }) => source))
  for (const photo of wanted) {
    if (stored.has(photo.source)) {
      counts.unchanged++
      continue
    }
    try {
      const decoded = await decode(options.decoder, photo)
      counts.removed += await database.write((trx) => {
        trx.actor = actorText({ command: 'import' })
        return insert(trx, petId, { decoded, source: photo.source, sources, isStale }, clock())
      })
      counts.added++
    } catch (error) {
      if (!(error instanceof PhotoError)) throw error
      fail(photo.source, error.message)
    }
  }
  if (counts.failed === 0 && wanted.length > 0) counts.removed += await removeStale(options, petId, isStale)
  if (counts.removed > 0) await database.truncateWal()
  return counts
}

async function decode(decoder: PhotoDecoder, { source, read }: WantedPhoto): Promise<DecodedPhoto> {
  if (source.length > photoSourceLengthMax) throw new PhotoError('The address is too long.')
  const bytes = await read()
  const reason = unsupportedReason(bytes)?.replace('The body', 'It')
  if (reason !== undefined) throw new PhotoError(reason)
  for (let attempt = 1; ; attempt++) {
    const decoded = await decoder.decode(bytes).catch((error: unknown) => {
      if (!(error instanceof DecoderUnavailableError)) throw error
      if (attempt === decodeAttemptsMax) throw new PhotoError(error.message)
    })
    if (!decoded) continue
    if ('problem' in decoded) throw new PhotoError(decoded.problem)
    return decoded
  }
}

type NewImportedPhoto = {
  readonly decoded: DecodedPhoto
  readonly source: string
  readonly sources: readonly string[]
  isStale(photo: PhotoRow): boolean
}

/** Adds a photo before those that come after it in the file. Returns how many it has removed to make room. */
async function insert(trx: Trx, petId: number, photo: NewImportedPhoto, now: number): Promise<number> {
  const { decoded, source, sources, isStale } = photo
  if (!(await lockPets(trx, [petId])).has(petId)) throw new PhotoError('The animal was removed.')
  let photos = await photosOf(trx, petId)
  const stale = photos.length >= photosPerPetMax ? photos.find(isStale) : undefined
  if (stale) {
    await removePhoto(trx, photos, stale, now)
    photos = photos.filter((each) => each !== stale)
  }
  if (photos.length >= photosPerPetMax)
    throw new PhotoError(`The animal has ${photosPerPetMax} photos already.`)
  const at = sources.indexOf(source)
  const position = photos.findIndex((other) => sources.indexOf(other.source ?? '') > at)
  const added = await addPhoto(trx, petId, (photos.at(-1)?.position ?? -1) + 1, decoded, now, { source })
  if (position !== -1) await updatePhoto(trx, [...photos, added], added, { position }, now)
  return stale ? 1 : 0
}

function removeStale(
  { database, clock }: PhotoImportOptions,
  petId: number,
  isStale: (photo: PhotoRow) => boolean,
): Promise<number> {
  return database.write(async (trx) => {
    trx.actor = actorText({ command: 'import' })
    await lockPets(trx, [petId])
    let photos = await photosOf(trx, petId)
    const stale = photos.filter(isStale)
    for (const photo of stale) {
      await removePhoto(trx, photos, photo, clock())
      photos = photos.filter((each) => each !== photo)
    }
    return stale.length
  })
}
