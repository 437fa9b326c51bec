import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import { timestamp } from '../clock.ts'
import type { Db, Trx } from '../database/db.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import type { Tables } from '../database/tables.ts'
import { recordEvent } from '../events/queries.ts'
import { touchPet } from '../pets/queries.ts'
import { type DecodedPhoto, moved, type PhotoFileName } from './photo.ts'

export type PhotoRow = Selectable<Tables['photos']>

/** 128 random bits: only who was given the address of a photo knows it. */
const newToken = (): string => randomBytes(16).toString('base64url')

/** The photos of each pet, in order. */
export async function findPhotos(db: Db, petIds: readonly number[]): Promise<Map<number, PhotoRow[]>> {
  if (petIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('photos')
    .selectAll()
    .where(db.dialect.isIn('pet_id', petIds))
    .orderBy('position')
    .orderBy('id')
    .execute()
  return Map.groupBy(rows, ({ pet_id }) => pet_id)
}

export const photosOf = async (db: Db, petId: number): Promise<PhotoRow[]> =>
  (await findPhotos(db, [petId])).get(petId) ?? []

export type NewPhoto = Omit<PhotoRow, 'id' | 'token'> & { readonly token?: string }

/** Adds a photo with its files to a pet that the transaction has locked. */
export async function insertPhoto(
  trx: Trx,
  photo: NewPhoto,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<PhotoRow> {
  const row = await trx
    .insertInto('photos')
    .values({ ...photo, token: photo.token ?? newToken() })
    .returningAll()
    .executeTakeFirstOrThrow()
  await insertFiles(trx, row.id, files)
  return row
}

/** Each in a statement of its own, so that no statement is larger than the largest file. */
async function insertFiles(
  trx: Trx,
  photoId: number,
  files: Readonly<Record<string, Uint8Array>>,
): Promise<void> {
  for (const [name, bytes] of Object.entries(files))
    await trx.insertInto('photo_files').values({ photo_id: photoId, name, bytes }).execute()
}

/** Adds a new photo after the others. An import says where it is from. */
export async function addPhoto(
  trx: Trx,
  petId: number,
  position: number,
  { files, ...size }: DecodedPhoto,
  now: number,
  { alt = null, source = null }: Partial<Pick<PhotoRow, 'alt' | 'source'>> = {},
): Promise<PhotoRow> {
  const texts = { alt, caption: null, source }
  const times = { created_at: now, updated_at: now }
  const row = await insertPhoto(trx, { pet_id: petId, position, ...texts, ...size, ...times }, files)
  await recordPhotoEvent(trx, row, 'photo.added', now)
  return row
}

export type PhotoUpdate = {
  alt?: string | null | undefined
  caption?: string | null | undefined
  position?: number | undefined
}

/** Changes a photo of a pet that the transaction has locked. `photos` are all photos of the pet. */
export async function updatePhoto(
  trx: Trx,
  photos: readonly PhotoRow[],
  photo: PhotoRow,
  change: PhotoUpdate,
  now: number,
): Promise<PhotoRow> {
  const { alt = photo.alt, caption = photo.caption, position } = change
  const from = photos.indexOf(photo)
  const to = Math.min(position ?? from, photos.length - 1)
  if (alt === photo.alt && caption === photo.caption && to === from) return { ...photo, position: from }
  await trx.updateTable('photos').set({ alt, caption, updated_at: now }).where('id', '=', photo.id).execute()
  await savePositions(trx, moved(photos, from, to))
  const changed = { ...photo, alt, caption, position: to, updated_at: now }
  await recordPhotoEvent(trx, changed, 'photo.updated', now)
  return changed
}

async function savePositions(trx: Trx, photos: readonly PhotoRow[]): Promise<void> {
  for (const [position, photo] of photos.entries())
    if (photo.position !== position)
      await trx.updateTable('photos').set({ position }).where('id', '=', photo.id).execute()
}

/** Removes a photo and its files. `photos` are all photos of the pet, which the transaction has locked. */
export async function removePhoto(trx: Trx, photos: readonly PhotoRow[], photo: PhotoRow, now: number) {
  await trx.deleteFrom('photos').where('id', '=', photo.id).execute()
  await deleteFiles(trx, [photo.id])
  await savePositions(
    trx,
    photos.filter((other) => other !== photo),
  )
  await recordPhotoEvent(trx, photo, 'photo.removed', now)
}

async function recordPhotoEvent(
  trx: Trx,
  { token, pet_id }: PhotoRow,
  type: 'photo.added' | 'photo.updated' | 'photo.removed',
  now: number,
): Promise<void> {
  await touchPet(trx, pet_id, now)
  await recordEvent(trx, now, type, { id: token, petId: pet_id, updatedAt: timestamp(now) })
}

async function deleteFiles(trx: Trx, photoIds: readonly number[]): Promise<void> {
  const isDeleted = trx.dialect.isIn('photo_id', photoIds)
  await trx.deleteFrom('photo_files').where(isDeleted).execute()
  await trx.deleteFrom('deleted_photos').where(isDeleted).execute()
}

const deletedPhotosMax = 4

/** Deletes the files of a bounded number of photos that were deleted with their pets. Returns the number of photos. */
export async function deleteOrphanedFiles(trx: Trx): Promise<number> {
  const rows = await trx
    .selectFrom('deleted_photos')
    .select('photo_id')
    .orderBy('photo_id')
    .limit(deletedPhotosMax)
    // Another instance may delete the others.
    .forUpdate()
    .skipLocked()
    .execute()
  if (rows.length > 0)
    await deleteFiles(
      trx,
      rows.map(({ photo_id }) => photo_id),
    )
  return rows.length
}

export const hasOrphanedFiles = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('deleted_photos').select('photo_id').limit(1).executeTakeFirst()) !== undefined

/** A file of a photo by the id of the photo in the API. Undefined if there is none. */
export async function findFile(db: Db, token: string, name: PhotoFileName): Promise<Uint8Array | undefined> {
  const [file] = await selectFile(db, token, name)
  return file?.bytes
}

const selectFile = preparedQuery<[token: string, name: string], { bytes: Uint8Array }>((db) =>
  db
    .selectFrom('photo_files')
    .innerJoin('photos', 'photos.id', 'photo_id')
    .select('bytes')
    .where('token', '=', '')
    .where('name', '=', ''),
)

/** The files of each photo. */
export async function findFiles(db: Db, photoIds: readonly number[]) {
  const rows = await db
    .selectFrom('photo_files')
    .selectAll()
    .where(db.dialect.isIn('photo_id', photoIds))
    .execute()
  const files = new Map<number, Map<string, Uint8Array>>(photoIds.map((id) => [id, new Map()]))
  for (const { photo_id, name, bytes } of rows) files.get(photo_id)?.set(name, bytes)
  return files
}
