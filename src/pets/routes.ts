import type { Kysely } from 'kysely'
import * as z from 'zod'
import type { Deprecation } from '../api/deprecation.ts'
import { ApiError } from '../api/errors.ts'
import { etagOf, matchesExactly } from '../api/etag.ts'
import { toJson } from '../api/json.ts'
import { type Operation, type OperationResult, operation, type WriteContext } from '../api/operation.ts'
import { pageAnswer } from '../api/pagination.ts'
import { int64, int64Text, notBlankPattern, pageCursor, pageLimit } from '../api/validation.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { chain } from '../maybePromise.ts'
import { idsMax, openPetCursor, sealPetCursor } from './cursor.ts'
import { isName, mayBecome, nameLengthMax, type Pet, petStatuses } from './pet.ts'
import { addPet, changePet, findPet, listPets, type PetFilter, removePet } from './queries.ts'

const petStatus = z.enum(petStatuses).meta({
  id: 'PetStatus',
  description:
    'Whether an animal can be adopted: still `available`, spoken for (`pending`) or gone (`sold`).',
})
const petName = z.string().refine(isName, `must be 1 to ${nameLengthMax} characters and not blank`).meta({
  minLength: 1,
  maxLength: nameLengthMax,
  pattern: notBlankPattern,
  description: "The animal's name; not blank.",
})
const categoryId = int64().meta({
  description:
    'Identifier of the category the animal belongs to. One that is new comes into being, without a name.',
})

const newPet = z
  .object({ name: petName, categoryId, status: petStatus.optional() })
  .meta({ id: 'NewPet', description: 'An animal to add. Without `status` it is `available`.' })
const petChange = z
  .object({ name: petName.optional(), categoryId: categoryId.optional(), status: petStatus.optional() })
  .meta({ id: 'PetChange', description: 'What is to change; what is left out stays.' })
export const pet = z
  .object({
    id: int64().meta({ description: 'Unique identifier, assigned by the service. Not sent by the caller.' }),
    ...newPet.shape,
  })
  .meta({ id: 'Pet', description: 'An animal offered for adoption.' })
const pets = z.array(pet).meta({ id: 'Pets', description: 'One page of animals, newest first.' })

const example = { id: 42, name: 'Milo', categoryId: 3, status: 'available' }
const params = z.object({ petId: int64Text().meta({ description: 'The identifier of the animal.' }) })
const ifMatch = { 'If-Match': "Only if the animal's ETag is still this one; 412 otherwise." }
const pageEtag = { ETag: "The page's ETag, for If-None-Match." }
const nextPage = { Link: 'Where the next page is, with `rel="next"`; absent on the last page.' }
const etag = { ETag: "The animal's ETag, for If-Match." }

/** getPet, announced on 15 November 2026 and gone on 5 December 2030. */
export const getPetDeprecation: Deprecation = {
  sinceMs: Date.UTC(2026, 10, 15),
  sunsetMs: Date.UTC(2030, 11, 5),
  guide: '/guides/deprecations',
  successor: '/v1/pets',
  message: 'GET /pets/{petId} was removed on 5 December 2030: use GET /pets with the id or status filter.',
}

/** Whether an order is open on an animal; one whose hold has run out is ended on the way. Orders know animals, not the reverse. */
type HasOpenOrder = (trx: Kysely<Tables>, petId: bigint, now: number) => Promise<boolean>

type PetRoutesOptions = {
  readonly database: Database
  readonly publicUrl: string | undefined
  readonly hasOpenOrder: HasOpenOrder
}

export function petRoutes({ database, publicUrl, hasOpenOrder }: PetRoutesOptions): Operation[] {
  const { read } = database
  /** The animal as it is in this transaction, if it is still the one that the caller means. */
  async function petToChange(petId: bigint, { trx, header, now }: WriteContext) {
    const isOrdered = await hasOpenOrder(trx, petId, now)
    const found = await findPet(trx, petId)
    if (!found) throw new ApiError('pet_not_found')
    const expected = header('if-match')
    if (expected !== undefined && !matchesExactly(expected, etagOf(toJson(found)))) {
      throw new ApiError('precondition_failed')
    }
    return { found, isOrdered }
  }

  return [
    operation({
      id: 'listPets',
      cacheable: true,
      method: 'GET',
      path: '/pets',
      tag: 'Pets',
      summary: 'List animals',
      description:
        'A page of animals, newest first. Filters combine. Follow `rel="next"` in the `Link` header to the next page; on the last page there is none.',
      scope: 'pets:read',
      query: z.object({
        limit: pageLimit(),
        status: petStatus.optional().meta({ description: 'Only animals with this status.' }),
        categoryId: int64Text().optional().meta({ description: 'Only animals of this category.' }),
        id: z
          .array(int64Text())
          .max(idsMax)
          .optional()
          .meta({ description: `Only these animals; may be given up to ${idsMax} times.` }),
        cursor: pageCursor(),
      }),
      requestHeaders: { 'If-None-Match': 'Answers 304 if the page still has this ETag.' },
      responses: {
        200: {
          description: 'One page of animals.',
          schema: pets,
          headers: pageEtag,
          optionalHeaders: nextPage,
          example: [example],
        },
        304: {
          description: 'The page is still the one you know.',
          headers: pageEtag,
          optionalHeaders: nextPage,
        },
      },
      errors: ['validation_failed', 'invalid_cursor'],
      async read({ query }) {
        const given: PetFilter = {
          status: query.status,
          categoryId: query.categoryId,
          ids: query.id && distinct(query.id),
        }
        const { belowId, filter } =
          query.cursor === undefined ? { filter: given } : openPetCursor(query.cursor, given)
        const found = await listPets(database, filter, query.limit + 1, belowId)
        const page = pageAnswer(found, (shown) => shown, {
          publicUrl,
          path: '/v1/pets',
          limit: query.limit,
          filters: filterParameters(filter),
          cursorAfter: (last) => sealPetCursor({ belowId: last.id, filter }),
        })
        return {
          ...page,
          headers: { ...page.headers, ETag: etagOf(`${page.json}${page.headers?.Link ?? ''}`) },
        }
      },
    }),

    operation({
      id: 'createPet',
      method: 'POST',
      path: '/pets',
      tag: 'Pets',
      summary: 'Add an animal',
      description:
        'Adds an animal and answers it with the `id` that it was given. Without `status` it is `available`.',
      scope: 'pets:write',
      body: newPet,
      bodyExample: { name: 'Milo', categoryId: 3 },
      responses: {
        201: {
          description: 'The animal was added; the body has its `id`.',
          schema: pet,
          headers: { Location: 'Where the animal is.', ...etag },
          example,
        },
      },
      errors: ['malformed_json', 'validation_failed'],
      async write({ body }, { trx, now }) {
        const added = await addPet(trx, body, now)
        return petAnswer(201, added, { Location: `${publicUrl ?? ''}/v1/pets/${added.id}` })
      },
    }),

    operation({
      id: 'getPet',
      cacheable: true,
      cachedRow: {
        table: 'pets',
        id: ({ petId = '' }) => (/^[1-9]\d{0,14}$/.test(petId) ? Number(petId) : undefined),
      },
      method: 'GET',
      path: '/pets/{petId}',
      tag: 'Pets',
      summary: 'Get an animal',
      description:
        'Deprecated, and removed on 5 December 2030. Use `GET /pets` with the `id` or `status` filter.',
      scope: 'pets:read',
      deprecation: getPetDeprecation,
      params,
      notFound: 'pet_not_found',
      requestHeaders: { 'If-None-Match': 'Answers 304 if the animal still has this ETag.' },
      responses: {
        200: { description: 'The animal.', schema: pet, headers: etag, example },
        304: { description: 'The animal is still the one you know.', headers: etag },
      },
      errors: ['pet_not_found', 'operation_removed'],
      read: ({ params: { petId } }) =>
        chain(findPet(read, petId), (found) => {
          if (!found) throw new ApiError('pet_not_found')
          return petAnswer(200, found)
        }),
    }),

    operation({
      id: 'updatePet',
      method: 'PATCH',
      path: '/pets/{petId}',
      tag: 'Pets',
      summary: 'Change an animal',
      description:
        'Changes what is given and leaves the rest. From `available` an animal may become `pending` or `sold`, from `pending` `available` or `sold`, from `sold` `available`.',
      scope: 'pets:write',
      params,
      notFound: 'pet_not_found',
      body: petChange,
      bodyExample: { status: 'pending' },
      requestHeaders: ifMatch,
      responses: {
        200: {
          description: 'The animal after the change.',
          schema: pet,
          headers: etag,
          example: { ...example, status: 'pending' },
        },
      },
      errors: [
        'malformed_json',
        'validation_failed',
        'pet_not_found',
        'illegal_transition',
        'pet_has_open_order',
        'precondition_failed',
      ],
      async write({ params: { petId }, body }, context) {
        const { trx, now } = context
        const { found, isOrdered } = await petToChange(petId, context)
        if (isOrdered && body.status !== undefined && body.status !== found.status) {
          throw new ApiError('pet_has_open_order')
        }
        if (body.status !== undefined && !mayBecome(found.status, body.status)) {
          throw new ApiError(
            'illegal_transition',
            `An animal that is ${found.status} cannot become ${body.status}: make it available first.`,
          )
        }
        return petAnswer(200, await changePet(trx, found, body, now))
      },
    }),

    operation({
      id: 'deletePet',
      method: 'DELETE',
      path: '/pets/{petId}',
      tag: 'Pets',
      summary: 'Remove an animal',
      description: 'Removes an animal for good.',
      scope: 'pets:write',
      params,
      notFound: 'pet_not_found',
      requestHeaders: ifMatch,
      responses: { 204: { description: 'The animal was removed.' } },
      errors: ['pet_not_found', 'pet_has_open_order', 'precondition_failed'],
      async write({ params: { petId } }, context) {
        const { found, isOrdered } = await petToChange(petId, context)
        if (isOrdered) throw new ApiError('pet_has_open_order')
        await removePet(context.trx, found, context.now)
        return { status: 204 }
      },
    }),
  ]
}

function petAnswer(status: number, shown: Pet, headers: Record<string, string> = {}): OperationResult {
  const json = toJson(shown)
  return { status, json, headers: { ...headers, ETag: etagOf(json) } }
}

const distinct = (ids: readonly bigint[]): bigint[] => [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1))

function filterParameters({ status, categoryId, ids }: PetFilter): [string, string][] {
  const parameters: [string, string][] = []
  if (status !== undefined) parameters.push(['status', status])
  if (categoryId !== undefined) parameters.push(['categoryId', String(categoryId)])
  for (const id of ids ?? []) parameters.push(['id', String(id)])
  return parameters
}
