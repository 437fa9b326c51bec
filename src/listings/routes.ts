import * as z from 'zod'
import { apiErrors, orNotFound, validationFailed } from '../api/errors.ts'
import { etagHeader, etagOf, ifNoneMatchParameter } from '../api/etag.ts'
import { toJson } from '../api/json.ts'
import {
  type Context,
  defineOperation,
  type Operation,
  type OperationResult,
  type ReadContext,
  respond,
} from '../api/operation.ts'
import { pageQuery, pageReader } from '../api/pagination.ts'
import { petByIdOperation, petErrors } from '../pets/schemas.ts'
import { findPhotos, type PhotoRow } from '../photos/queries.ts'
import { serializePhoto } from '../photos/schemas.ts'
import { findPetWithProfile, type PetWithProfile } from '../profiles/queries.ts'
import { profileEtag, serializeProfile, serializeProfileSummary } from '../profiles/representation.ts'
import { isStaffView, viewQuery } from '../profiles/view.ts'
import { findListings } from './queries.ts'
import type { ListingFilter } from './query.ts'
import { listingCursor, listingFilterSchema, listingListSchema, listingSchema } from './schemas.ts'

type Serialize = typeof serializeProfile | typeof serializeProfileSummary

/** An animal in a response. */
function serializeListing(
  animal: PetWithProfile,
  photos: readonly PhotoRow[],
  { now, publicUrl }: Context,
  isStaff: boolean,
  serialize: Serialize,
) {
  const { pet } = animal
  return {
    pet,
    profile: serialize(animal, now, isStaff),
    photos: photos.map((photo, position) => serializePhoto(photo, position, publicUrl)),
    etags: { pet: etagOf(toJson(pet)), profile: profileEtag(animal, now) },
  }
}

const withEtag = (result: OperationResult, isUncacheable: boolean): OperationResult => {
  const ETag = etagOf(`${result.json}${result.headers?.Link ?? ''}`)
  return { ...result, headers: { ...result.headers, ETag }, isUncacheable }
}

type Filter = z.output<typeof listingFilterSchema>
type Found = { readonly id: number; readonly animal: PetWithProfile; readonly photos: readonly PhotoRow[] }

const toListingFilter = ({ view, q, ...filter }: Filter): ListingFilter => ({
  ...filter,
  q: q?.trim() || undefined,
  isStaff: view === 'staff' || undefined,
})

async function withPhotos(db: ReadContext['db'], animals: readonly PetWithProfile[]): Promise<Found[]> {
  const photos = await findPhotos(
    db,
    animals.map(({ pet }) => pet.id),
  )
  return animals.map((animal) => {
    const { id } = animal.pet
    return { id, animal, photos: photos.get(id) ?? [] }
  })
}

const listListingsOperation = defineOperation('listListings', 'GET /listings', {
  tag: 'Pets',
  stability: 'beta',
  cacheable: 'today',
  summary: 'Search animals',
  description:
    'Returns one page of animals with their profiles and photos, newest first. Filters can be combined. A change usually appears in filtered results within a second. While they lack a change of more than 5 seconds ago, the response is 503 `unavailable`.',
  scope: 'pets:read',
  query: z.object({ limit: pageQuery.limit, ...listingFilterSchema.shape, cursor: pageQuery.cursor }),
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'One page of animals.', schema: listingListSchema, headers: etagHeader },
    304: { description: 'The page has not changed.', headers: etagHeader },
  },
  errors: [apiErrors.insufficient_scope],
  async read({ query }, context) {
    // The cursor has the filters of the first page.
    const [, filter] = listingCursor.decode(query.cursor, filterOf(query))
    const isStaff = isStaffView(filter, context)
    if (!isStaff && filter.listed !== undefined && filter.listed !== 'true')
      throw validationFailed([{ path: 'listed', message: 'requires view=staff, unless it is true' }])
    const serialize = ({ animal, photos }: Found) =>
      serializeListing(animal, photos, context, isStaff, serializeProfileSummary)
    let isCurrent = true
    const read = pageReader(
      listingCursor,
      async (db, limit, below, sentFilter, now) => {
        const found = await findListings(db, limit, below, toListingFilter(sentFilter), now)
        isCurrent = found.isCurrent
        return withPhotos(db, found.animals)
      },
      serialize,
    )
    const page = await read({ query }, context)
    // From the cache, a page that lacks a recent change could be returned when that change is older than 5 seconds.
    return withEtag(page, isStaff || !isCurrent)
  },
})

function filterOf({
  limit: _,
  cursor: __,
  ...filter
}: Filter & { limit: number; cursor?: string | undefined }): Filter {
  return filter
}

const getListingOperation = defineOperation('getListing', 'GET /listings/{petId}', {
  ...petByIdOperation,
  stability: 'beta',
  cacheable: 'today',
  summary: 'Get an animal with its profile and photos',
  description: 'An animal that is not listed is found with `view=staff` only.',
  scope: 'pets:read',
  query: z.object(viewQuery),
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'The animal.', schema: listingSchema, headers: etagHeader },
    304: { description: 'The animal has not changed.', headers: etagHeader },
  },
  errors: [apiErrors.insufficient_scope],
  async read({ params: { petId }, query }, context) {
    const isStaff = isStaffView(query, context)
    const id = Number(petId)
    const [found, photos] = await Promise.all([
      findPetWithProfile(context.db, id),
      findPhotos(context.db, [id]),
    ])
    const visible = found && (isStaff || found.profile.listed) ? found : undefined
    const animal = orNotFound(visible, petErrors.pet_not_found)
    const listing = serializeListing(animal, photos.get(id) ?? [], context, isStaff, serializeProfile)
    return withEtag(respond(200, listing), isStaff)
  },
})

export const listingRoutes: Operation[] = [listListingsOperation, getListingOperation]
