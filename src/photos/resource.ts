import * as z from 'zod'
import { boundedText, integer } from '../api/validation.ts'
import { timestamp } from '../clock.ts'
import type { Db, Trx } from '../database/db.ts'
import { recordEvent } from '../events/queries.ts'
import { touchPet } from '../pets/queries.ts'
import { lockPets } from '../profiles/queries.ts'
import {
  ConflictError,
  oneByOne,
  type RecordChange,
  type Resource,
  recordId,
  recordTime,
} from '../records/resource.ts'
import { PhotoConflicts } from './conflicts.ts'
import {
  altLengthMax,
  captionLengthMax,
  formatOf,
  type PhotoFileName,
  photoFileNames,
  photoFilesBytesMax,
  photoHeightMax,
  photoSourceLengthMax,
  photosPerPetMax,
  photoWidthMax,
} from './photo.ts'
import { findFiles, insertPhoto, type PhotoRow, photosOf } from './queries.ts'

/** A file of a photo. It is served with the media type of its name, so it must have the signature of that type. */
function fileSchema(name: PhotoFileName) {
  const format = formatOf(name)
  return z
    .base64('must be base64')
    .transform((text) => Buffer.from(text, 'base64'))
    .refine(format.test, `must be a ${format.name} image`)
}
const filesSchema = z
  .object(Object.fromEntries(photoFileNames.map((name) => [name, fileSchema(name)])))
  .refine(
    (files) => Object.values(files).reduce((sum, { length }) => sum + length, 0) <= photoFilesBytesMax,
    `must have at most ${photoFilesBytesMax} bytes together`,
  )

const schema = z.object({
  type: z.literal('photo'),
  id: recordId,
  token: z.string().regex(/^[A-Za-z0-9_-]{22}$/, 'must be the id of a photo'),
  petId: recordId,
  position: integer(0, 2 ** 31),
  alt: boundedText(altLengthMax).nullable(),
  caption: boundedText(captionLengthMax).nullable(),
  width: integer(1, photoWidthMax),
  height: integer(1, photoHeightMax),
  color: z.string().regex(/^#[0-9a-f]{6}$/, 'must be a color such as #8a7f6d'),
  createdAt: recordTime,
  updatedAt: recordTime,
  /** Where an import of CSV has got it from. */
  source: boundedText(photoSourceLengthMax).optional(),
  files: filesSchema,
})
type PhotoRecord = z.output<typeof schema>

/** A photo is identified by its token. Its id is that of the database that it was exported from. */
export const photoResource: Resource<PhotoRecord, 'photos'> = {
  type: 'photo',
  countName: 'photos',
  nouns: ['photo', 'photos'],
  table: 'photos',
  idColumn: 'id',
  owner: { type: 'pet', column: 'pet_id' },
  // Those of the pet: it is read again with what it owns.
  events: {},
  isLarge: true,
  // Their files are in memory.
  rowsPerBatch: 8,
  positions: [34],
  async toRecords(rows, db) {
    const files = await findFiles(
      db,
      rows.map(({ id }) => id),
    )
    return rows.map((row) => toRecord(row, files.get(row.id) ?? new Map()))
  },
  schema,
  conflicts: () => new PhotoConflicts(),
  ...oneByOne(applyPhoto, findPhotoChange),
  identitiesOf: ({ token }) => [token],
  stateOf: ({ position, alt, caption }) => [position, alt, caption],
}

const toRecord = (row: PhotoRow, files: ReadonlyMap<string, Uint8Array>): object => ({
  token: row.token,
  petId: row.pet_id,
  position: row.position,
  alt: row.alt,
  caption: row.caption,
  width: row.width,
  height: row.height,
  color: row.color,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  source: row.source ?? undefined,
  files: Object.fromEntries(
    photoFileNames.map((name) => [name, Buffer.from(files.get(name) ?? []).toString('base64')]),
  ),
})

const findByToken = (db: Db, token: string): Promise<PhotoRow | undefined> =>
  db.selectFrom('photos').selectAll().where('token', '=', token).executeTakeFirst()

const isSame = (row: PhotoRow, { petId, position, alt, caption }: PhotoRecord): boolean =>
  row.pet_id === petId && row.position === position && row.alt === alt && row.caption === caption

async function findPhotoChange(db: Db, record: PhotoRecord): Promise<RecordChange> {
  const stored = await findByToken(db, record.token)
  if (!stored) return 'added'
  return isSame(stored, record) ? 'unchanged' : 'changed'
}

async function applyPhoto(trx: Trx, record: PhotoRecord, now: number): Promise<[RecordChange]> {
  const { token, petId, position, alt, caption, files } = record
  if (!(await lockPets(trx, [petId])).has(petId))
    throw new ConflictError(`There is no animal ${petId}, so it cannot have a photo.`)
  const stored = await findByToken(trx, token)
  if (stored && isSame(stored, record)) return ['unchanged']
  if (stored && stored.pet_id !== petId)
    throw new ConflictError(`The photo ${token} belongs to animal ${stored.pet_id}.`)
  if (stored)
    await trx
      .updateTable('photos')
      .set({ position, alt, caption, updated_at: now })
      .where('id', '=', stored.id)
      .execute()
  else {
    if ((await photosOf(trx, petId)).length >= photosPerPetMax)
      throw new ConflictError(`Animal ${petId} has ${photosPerPetMax} photos already.`)
    const { width, height, color, createdAt: created_at, updatedAt: updated_at, source = null } = record
    const row = { token, pet_id: petId, position, alt, caption, width, height, color, source }
    await insertPhoto(trx, { ...row, created_at, updated_at }, files)
  }
  // An animal of another database keeps the time of its last change.
  if (stored) await touchPet(trx, petId, now)
  const data = { id: token, petId, updatedAt: timestamp(now) }
  await recordEvent(trx, now, stored ? 'photo.updated' : 'photo.added', data)
  return [stored ? 'changed' : 'added']
}
