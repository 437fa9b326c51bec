import * as z from 'zod'
import { ApiError, apiErrors, orNotFound } from '../api/errors.ts'
import { etagHeader, ifMatchParameter, requireIfMatch, respondWithEtag } from '../api/etag.ts'
import { defineOperation, type Operation, respond, type WriteContext } from '../api/operation.ts'
import type { Database } from '../database/database.ts'
import type { Db, Trx } from '../database/db.ts'
import { petByIdOperation, petErrors } from '../pets/schemas.ts'
import { findPetWithProfile, lockPets } from '../profiles/queries.ts'
import { isStaffView, viewQuery } from '../profiles/view.ts'
import { DecoderUnavailableError, type Uploader } from './decodeQueue.ts'
import type { PhotoDecoder } from './decoder.ts'
import { type DecodedPhoto, photoBytesMax, photosPerPetMax, unsupportedReason, uploadTypes } from './photo.ts'
import { addPhoto, photosOf, removePhoto, updatePhoto } from './queries.ts'
import {
  photoErrors,
  photoIdPattern,
  photoListSchema,
  photoSchema,
  photoUpdateSchema,
  serializePhoto,
} from './schemas.ts'

export type PhotoRoutesOptions = { readonly database: Database; readonly decoder: PhotoDecoder }

const photoByIdOperation = {
  ...petByIdOperation,
  stability: 'beta',
  params: z.object({
    ...petByIdOperation.params.shape,
    photoId: z.string().meta({ description: 'The id of the photo.', pattern: photoIdPattern }),
  }),
} as const

const subject = ({ params: { petId } }: { params: { petId: bigint } }) => `pet ${petId}`

const listPhotosOperation = defineOperation('listPetPhotos', 'GET /pets/{petId}/photos', {
  ...petByIdOperation,
  stability: 'beta',
  cacheable: true,
  summary: 'List the photos of an animal',
  description: 'Returns the photos in order. An animal that is not listed has none without `view=staff`.',
  scope: 'pets:read',
  query: z.object(viewQuery),
  responses: { 200: { description: 'The photos.', schema: photoListSchema } },
  errors: [apiErrors.insufficient_scope],
  async read({ params: { petId }, query }, context) {
    const isStaff = isStaffView(query, context)
    const animal = await findPetWithProfile(context.db, Number(petId))
    if (!animal || !(isStaff || animal.profile.listed)) throw new ApiError(petErrors.pet_not_found)
    const photos = await photosOf(context.db, animal.pet.id)
    const list = photos.map((photo, position) => serializePhoto(photo, position, context.publicUrl))
    return { ...respond(200, list), isUncacheable: isStaff }
  },
})

const addPhotoOperation = ({ decoder }: PhotoRoutesOptions) =>
  defineOperation('addPetPhoto', 'POST /pets/{petId}/photos', {
    ...petByIdOperation,
    stability: 'beta',
    summary: 'Add a photo of an animal',
    description:
      'The body is the file: JPEG, PNG or WebP, up to 10 MiB and 50 megapixels, no side longer than 20,000 pixels. The photo is turned upright and stored in several sizes, without its metadata such as the place where it was taken. The file itself is not kept.',
    scope: 'pets:write',
    rawBody: {
      types: uploadTypes,
      bytesMax: photoBytesMax,
      time: { startMs: 10_000, bytesPerSecondMin: 64 * 1024, totalMs: 120_000 },
      advice: 'Export a photo in another format, such as HEIC, as JPEG.',
    },
    responses: {
      201: {
        description: 'The photo was added, after the others.',
        schema: photoSchema,
        headers: etagHeader,
      },
    },
    location: ({ id }, { params: { petId } }) => `/pets/${petId}/photos/${id}`,
    errors: [photoErrors.too_many_photos, photoErrors.invalid_image, apiErrors.unavailable],
    subject,
    async prepare({ params: { petId }, bytes }, { db, principal, isDisconnected }) {
      // Before the slow work. The transaction checks it again.
      const pet = await findPetWithProfile(db, Number(petId))
      await photosWithSpace(db, orNotFound(pet, petErrors.pet_not_found).pet.id)
      return decode(decoder, bytes, { keyId: principal.keyId, isDisconnected })
    },
    async write({ params: { petId } }, { trx, now, publicUrl }, decoded) {
      const id = await lockPet(trx, petId)
      const photos = await photosWithSpace(trx, id)
      const photo = await addPhoto(trx, id, (photos.at(-1)?.position ?? -1) + 1, decoded, now)
      return respondWithEtag(201, serializePhoto(photo, photos.length, publicUrl))
    },
  })

async function decode(decoder: PhotoDecoder, bytes: Uint8Array, uploader: Uploader): Promise<DecodedPhoto> {
  const reason = unsupportedReason(bytes)
  if (reason !== undefined) throw new ApiError(apiErrors.unsupported_media_type, reason)
  const decoded = await decoder.decode(bytes, uploader).catch((error: unknown) => {
    if (!(error instanceof DecoderUnavailableError)) throw error
    throw new ApiError(apiErrors.unavailable, `${error.message} Retry after "Retry-After".`, { cause: error })
  })
  if ('problem' in decoded) throw new ApiError(photoErrors.invalid_image, decoded.problem)
  return decoded
}

/** The photos of an animal, if it can have one more. */
async function photosWithSpace(db: Db, petId: number) {
  const photos = await photosOf(db, petId)
  if (photos.length >= photosPerPetMax) throw new ApiError(photoErrors.too_many_photos)
  return photos
}

async function lockPet(trx: Trx, petId: bigint): Promise<number> {
  const id = Number(petId)
  if (!(await lockPets(trx, [id])).has(id)) throw new ApiError(petErrors.pet_not_found)
  return id
}

/** All photos of an animal, which is locked, and the one with this id, if it matches the `If-Match` header. */
async function photoToChange(context: WriteContext, { petId, photoId }: { petId: bigint; photoId: string }) {
  const { trx, publicUrl } = context
  const photos = await photosOf(trx, await lockPet(trx, petId))
  const found = photos.find(({ token }) => token === photoId)
  const photo = orNotFound(found, photoErrors.photo_not_found)
  requireIfMatch(serializePhoto(photo, photos.indexOf(photo), publicUrl), context)
  return { photos, photo }
}

const updatePhotoOperation = defineOperation('updatePetPhoto', 'PATCH /pets/{petId}/photos/{photoId}', {
  ...photoByIdOperation,
  summary: 'Change a photo',
  description: 'Changes the texts of a photo, or its place among the photos of the animal.',
  scope: 'pets:write',
  body: photoUpdateSchema,
  requestHeaders: ifMatchParameter,
  responses: {
    200: { description: 'The photo after the change.', schema: photoSchema, headers: etagHeader },
  },
  errors: [photoErrors.photo_not_found, apiErrors.precondition_failed],
  subject,
  async write({ params, body }, context) {
    const { trx, now, publicUrl } = context
    const { photos, photo } = await photoToChange(context, params)
    const changed = await updatePhoto(trx, photos, photo, body, now)
    return respondWithEtag(200, serializePhoto(changed, changed.position, publicUrl))
  },
})

const removePhotoOperation = ({ database }: PhotoRoutesOptions) =>
  defineOperation('removePetPhoto', 'DELETE /pets/{petId}/photos/{photoId}', {
    ...photoByIdOperation,
    summary: 'Remove a photo',
    description:
      'Removes a photo permanently. Browsers and proxies that have loaded it may keep it for up to a day.',
    scope: 'pets:write',
    requestHeaders: ifMatchParameter,
    responses: { 204: { description: 'The photo was removed.' } },
    errors: [photoErrors.photo_not_found, apiErrors.precondition_failed],
    subject,
    async write({ params }, context) {
      const { trx, now, afterCommit } = context
      const { photos, photo } = await photoToChange(context, params)
      await removePhoto(trx, photos, photo, now)
      afterCommit(() => database.truncateWal())
      return respond(204)
    },
  })

export const photoRoutes = (options: PhotoRoutesOptions): Operation[] => [
  listPhotosOperation,
  addPhotoOperation(options),
  updatePhotoOperation,
  removePhotoOperation(options),
]
