import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import * as z from 'zod'
import { ApiError, apiErrors } from '../../src/api/errors.ts'
import { etagOf } from '../../src/api/etag.ts'
import { defineOperation, type Operation, respond } from '../../src/api/operation.ts'
import type { BodyTime } from '../../src/api/request.ts'
import { prepareResponse } from '../../src/api/response.ts'
import type { PageAllowance, WebPage } from '../../src/api/router.ts'
import { int64Text } from '../../src/api/validation.ts'
import { createCategory } from '../../src/categories/queries.ts'
import { orderErrors } from '../../src/orders/schemas.ts'
import { findPet } from '../../src/pets/queries.ts'
import { petErrors, petSchema } from '../../src/pets/schemas.ts'

/** Operations and pages that no feature has yet, for tests of what an operation and a page can declare. */

export const pictureTypes = ['image/webp', 'image/png']
export const pictureBytesMax = 1024 * 1024
const pictureTime = { startMs: 10_000, bytesPerSecondMin: 64 * 1024, totalMs: 30_000 }
/** For tests of bodies that are too slow. */
export const shortTime = { startMs: 300, bytesPerSecondMin: 1024, totalMs: 900 }
/** For a body that is still arriving after its first moments, and not too slow. */
const shortStartTime = { ...shortTime, totalMs: 30_000 }
export const boardAllowance: PageAllowance = { name: 'notice boards', perMinute: 5 }

const petParams = z.object({ petId: int64Text().meta({ description: 'The id of the animal.' }) })
const pictureSchema = z
  .object({ id: z.int(), digest: z.string(), prepared: z.int() })
  .meta({ id: 'Picture', description: 'A picture.' })

/** What the operations have done. `GET /test/state` shows it, because the service may be another process. */
const state = { prepared: 0, transactions: 0 }
let released = Promise.withResolvers<void>()
/** Ends the preparations that wait, in this process. */
export function releasePreparations(): void {
  released.resolve()
  released = Promise.withResolvers()
}
let readsWaiting = 0
/** Reads that wait for it, in this process. */
export const waitingReads = (): number => readsWaiting
/** The first transactions of requests with this text fail as PostgreSQL reports a concurrent change. */
const failuresOf = new Map<string, number>()

const common = { tag: 'Pets', stability: 'experimental', scope: 'pets:write' } as const

const pictureOperation = (id: string, path: string, time: BodyTime) =>
  defineOperation(id, `POST /test/pets/{petId}/${path}`, {
    ...common,
    summary: 'Add a picture',
    params: petParams,
    notFound: petErrors.pet_not_found,
    rawBody: { types: pictureTypes, bytesMax: pictureBytesMax, time },
    responses: { 201: { description: 'The picture was added.', schema: pictureSchema } },
    errors: [orderErrors.pet_unavailable],
    location: (created, { params }) => `/test/pets/${params.petId}/pictures/${created.id}`,
    async prepare({ bytes }) {
      state.prepared++
      const text = Buffer.from(bytes.subarray(0, 100)).toString()
      if (text.startsWith('wait')) await released.promise
      if (text.startsWith('reject'))
        throw new ApiError(orderErrors.pet_unavailable, 'This picture is not one.')
      if (text.startsWith('fail')) throw new Error('The preparation failed.')
      return { digest: createHash('sha256').update(bytes).digest('hex'), prepared: state.prepared }
    },
    async write({ bytes }, { trx, now }, { digest, prepared }) {
      state.transactions++
      const text = Buffer.from(bytes.subarray(0, 100)).toString()
      const failures = failuresOf.get(text) ?? 0
      if (text.startsWith('conflict') && failures < 2) {
        failuresOf.set(text, failures + 1)
        await createCategory(trx, 'of a transaction that is rolled back', now)
        await sql`DO $$ BEGIN RAISE EXCEPTION 'concurrent change' USING ERRCODE = '40001'; END $$`.execute(
          trx,
        )
      }
      const { id: categoryId } = await createCategory(trx, digest.slice(0, 20), now)
      return respond(201, { id: categoryId, digest, prepared })
    },
  })

export const operations: Operation[] = [
  pictureOperation('addPicture', 'pictures', pictureTime),
  pictureOperation('addPictureFast', 'fastPictures', shortTime),
  pictureOperation('addPictureShortStart', 'shortStartPictures', shortStartTime),
  defineOperation('getPicture', 'GET /test/pictures/{name}', {
    ...common,
    summary: 'Get a picture',
    scope: 'pets:read',
    params: z.object({ name: z.string() }),
    responses: {
      200: {
        description: 'The picture.',
        types: pictureTypes,
        headers: { ETag: 'The ETag of the picture.' },
      },
      304: { description: 'The picture has not changed.' },
    },
    async read({ params: { name } }) {
      if (name === 'wait') {
        readsWaiting++
        await released.promise
        readsWaiting--
      }
      if (name === 'none') throw new ApiError(apiErrors.not_found)
      const bytes = Buffer.from([0, 255, 128, 13, 10, ...Buffer.from(name)])
      const headers = {
        'Content-Type': 'image/webp',
        'Cache-Control': 'public, max-age=86400, immutable',
        ETag: etagOf(name),
      }
      return { status: 200, bytes, headers }
    },
  }),
  defineOperation('getState', 'GET /test/state', {
    ...common,
    summary: 'What was done',
    responses: { 200: { description: 'The counts.', schema: petSchema } },
    read: () => respond(200, state),
  }),
  defineOperation('releasePreparations', 'DELETE /test/state', {
    ...common,
    summary: 'End the preparations that wait',
    responses: { 204: { description: 'They have ended.' } },
    async write() {
      releasePreparations()
      return respond(204)
    },
  }),
]

export const pages: WebPage[] = [
  {
    path: '/board/{petId}',
    id: 'noticeBoard',
    allowance: () => boardAllowance,
    async serve(_request, { params, db, now }) {
      const petId = params.petId ?? ''
      if (petId === 'broken') throw new Error('The page failed.')
      const pet = /^\d+$/.test(petId) ? await findPet(db, BigInt(petId)) : undefined
      const html = pet ? `<h1>${pet.name}</h1>` : '<h1>There is no such animal.</h1>'
      return prepareResponse({
        status: pet ? 200 : 404,
        bytes: Buffer.from(html),
        headers: {
          'Content-Type': 'text/html; charset=utf-8',
          'Cache-Control': 'public, max-age=60',
          ETag: etagOf(html),
          'X-Now': String(now),
        },
      })
    },
  },
]
