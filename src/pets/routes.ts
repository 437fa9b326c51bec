import * as z from 'zod'
import { ApiError, apiErrors, orNotFound } from '../api/errors.ts'
import {
  etagHeader,
  etagOf,
  ifMatchParameter,
  ifNoneMatchParameter,
  requireIfMatch,
  respondWithEtag,
} from '../api/etag.ts'
import {
  type BatchedRequest,
  type Deprecation,
  defineOperation,
  type Operation,
  respond,
  type WriteContext,
} from '../api/operation.ts'
import { pageQuery, pageReader } from '../api/pagination.ts'
import { lockCategory } from '../categories/queries.ts'
import type { Db, Trx } from '../database/db.ts'
import { chain } from '../maybePromise.ts'
import { isPetTransitionAllowed, type NewPet, type Pet } from './pet.ts'
import type { CreatePetBatch } from './queries.postgres.ts'
import { createPet, deletePet, findPet, listPets, updatePet } from './queries.ts'
import {
  newPetSchema,
  petByIdOperation,
  petCursor,
  petErrors,
  petFilterSchema,
  petListSchema,
  petSchema,
  petUpdateSchema,
} from './schemas.ts'

const subject = ({ params: { petId } }: { params: { petId: bigint } }) => `pet ${petId}`

/** getPet is deprecated since 15 November 2026 and is removed on 5 December 2030. */
export const getPetDeprecation: Deprecation = {
  sinceMs: Date.UTC(2026, 10, 15),
  sunsetMs: Date.UTC(2030, 11, 5),
  guide: '/guides/deprecations',
  successor: '/v1/pets',
  message: 'GET /pets/{petId} was removed on 5 December 2030: use GET /pets with the id or status filter.',
}

type PetRoutesOptions = {
  /** If the engine can create pets for many requests at once. */
  readonly createBatch?: CreatePetBatch | undefined
  /** An order whose hold has expired is cancelled. Passed in, because orders depend on pets. */
  lockPetAndOrder(
    trx: Trx,
    petId: bigint,
    now: number,
  ): Promise<{ pet: Pet | undefined; openOrder: object | undefined }>
  /** Called after a pet with a profile, which may contain personal data, was removed. */
  onProfileRemoved(): void
  /** Passed in, because profiles depend on pets. */
  hasProfile(db: Db, petId: number): Promise<boolean>
}

/** The pet, locked, if it matches the `If-Match` header. */
async function petToChange({ lockPetAndOrder }: PetRoutesOptions, petId: bigint, context: WriteContext) {
  const { pet: found, openOrder } = await lockPetAndOrder(context.trx, petId, context.now)
  const pet = orNotFound(found, petErrors.pet_not_found)
  requireIfMatch(pet, context)
  return { pet, hasOrder: openOrder !== undefined }
}

const readPage = pageReader(petCursor, listPets)

const listPetsOperation = defineOperation('listPets', 'GET /pets', {
  tag: 'Pets',
  cacheable: true,
  allowsReplica: true,
  summary: 'List animals',
  description:
    'Returns one page of animals, newest first. Filters can be combined. The `Link` header contains the URL of the next page with `rel="next"`; it is absent on the last page.',
  scope: 'pets:read',
  query: z.object({ limit: pageQuery.limit, ...petFilterSchema.shape, cursor: pageQuery.cursor }),
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'One page of animals.', schema: petListSchema, headers: etagHeader },
    304: { description: 'The page has not changed.', headers: etagHeader },
  },
  async read({ query }, context) {
    const page = await readPage({ query: { ...query, id: query.id && sortedUnique(query.id) } }, context)
    const ETag = etagOf(`${page.json}${page.headers?.Link ?? ''}`)
    return { ...page, headers: { ...page.headers, ETag } }
  },
})

const createPetOperation = ({ createBatch }: PetRoutesOptions) =>
  defineOperation('createPet', 'POST /pets', {
    tag: 'Pets',
    summary: 'Add an animal',
    description: 'Adds an animal and returns it with its new `id`. `status` defaults to `available`.',
    scope: 'pets:write',
    body: newPetSchema,
    responses: { 201: { description: 'The animal was added.', schema: petSchema, headers: etagHeader } },
    location: ({ id }) => `/pets/${id}`,
    async write({ body }, { trx, now }) {
      return respondWithEtag(201, await createPet(trx, body, now))
    },
    ...(createBatch && {
      async writeBatch(requests: readonly BatchedRequest<{ body: NewPet }>[]) {
        const pets = requests.map(({ input: { body }, ...request }) => ({
          ...request,
          pet: { ...body, status: body.status ?? 'available' },
        }))
        const ids = await createBatch(pets)
        return pets.map(({ pet: { name, categoryId, status } }, index) => {
          const id = ids[index]
          return id === undefined ? undefined : respondWithEtag(201, { id, name, categoryId, status })
        })
      },
    }),
  })

const getPetOperation = defineOperation('getPet', 'GET /pets/{petId}', {
  ...petByIdOperation,
  cacheable: true,
  allowsReplica: true,
  cachedRow: {
    id: ({ petId = '' }) => (/^[1-9]\d{0,14}$/.test(petId) ? Number(petId) : undefined),
    dependsOn: [{ table: 'pets', column: 'id' }],
  },
  summary: 'Get an animal',
  description:
    'Deprecated. This operation is removed on 5 December 2030. Use `GET /pets` with the `id` or `status` filter.',
  scope: 'pets:read',
  deprecation: getPetDeprecation,
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'The animal.', schema: petSchema, headers: etagHeader },
    304: { description: 'The animal has not changed.', headers: etagHeader },
  },
  errors: [apiErrors.operation_removed],
  read: ({ params: { petId } }, { db }) =>
    chain(findPet(db, petId), (pet) => respondWithEtag(200, orNotFound(pet, petErrors.pet_not_found))),
})

const updatePetOperation = (options: PetRoutesOptions) =>
  defineOperation('updatePet', 'PATCH /pets/{petId}', {
    ...petByIdOperation,
    summary: 'Change an animal',
    description:
      'Changes the given fields. The status can change from `available` to `pending` or `sold`, from `pending` to `available` or `sold`, and from `sold` to `available`.',
    scope: 'pets:write',
    body: petUpdateSchema,
    requestHeaders: ifMatchParameter,
    responses: {
      200: { description: 'The animal after the change.', schema: petSchema, headers: etagHeader },
    },
    errors: [apiErrors.illegal_transition, petErrors.pet_has_open_order, apiErrors.precondition_failed],
    subject,
    async write({ params: { petId }, body }, context) {
      const { categoryId } = body
      const [isCategoryLocked, { pet, hasOrder }] = await Promise.all([
        categoryId !== undefined && lockCategory(context.trx, categoryId),
        petToChange(options, petId, context),
      ])
      const { status = pet.status } = body
      if (hasOrder && status !== pet.status) throw new ApiError(petErrors.pet_has_open_order)
      if (!isPetTransitionAllowed(pet.status, status)) {
        throw new ApiError(
          apiErrors.illegal_transition,
          `The status of an animal cannot change from ${pet.status} to ${status}: change it to available first.`,
        )
      }
      return respondWithEtag(200, await updatePet(context.trx, pet, body, context.now, isCategoryLocked))
    },
  })

const deletePetOperation = (options: PetRoutesOptions) =>
  defineOperation('deletePet', 'DELETE /pets/{petId}', {
    ...petByIdOperation,
    summary: 'Remove an animal',
    description: 'Removes an animal permanently.',
    scope: 'pets:write',
    requestHeaders: ifMatchParameter,
    responses: { 204: { description: 'The animal was removed.' } },
    errors: [petErrors.pet_has_open_order, apiErrors.precondition_failed],
    subject,
    async write({ params: { petId } }, context) {
      const [{ pet, hasOrder }, hasProfile] = await Promise.all([
        petToChange(options, petId, context),
        options.hasProfile(context.trx, Number(petId)),
      ])
      if (hasOrder) throw new ApiError(petErrors.pet_has_open_order)
      if (hasProfile) context.afterCommit(options.onProfileRemoved)
      await deletePet(context.trx, pet, context.now)
      return respond(204)
    },
  })

export const petRoutes = (options: PetRoutesOptions): Operation[] => [
  listPetsOperation,
  createPetOperation(options),
  getPetOperation,
  updatePetOperation(options),
  deletePetOperation(options),
]

const sortedUnique = (ids: readonly bigint[]): bigint[] => [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1))
