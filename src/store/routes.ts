import { apiErrors } from '../api/errors.ts'
import {
  etagHeader,
  ifMatchParameter,
  ifNoneMatchParameter,
  requireIfMatch,
  respondWithEtag,
} from '../api/etag.ts'
import { type Context, defineOperation, type Operation } from '../api/operation.ts'
import { recordAudit } from '../audit/queries.ts'
import { findStoreProfile, findStoreProfileForUpdate, updateStoreProfile } from './queries.ts'
import { storeProfileSchema, storeProfileUpdateSchema } from './schemas.ts'
import { isSameStoreProfile, type StoreProfile, updatedStoreProfile } from './store.ts'

const storeOperation = { tag: 'Store', stability: 'beta' } as const

const serializeStoreProfile = (profile: StoreProfile, { publicUrl }: Context) => ({
  ...profile,
  publicUrl: publicUrl || null,
})

const getStoreProfileOperation = defineOperation('getStoreProfile', 'GET /store/profile', {
  ...storeOperation,
  cacheable: true,
  summary: 'Get the store profile',
  description: 'The name of the store, how to reach it, and whether its adoption page is on.',
  scope: 'pets:read',
  requestHeaders: ifNoneMatchParameter,
  responses: {
    200: { description: 'The store profile.', schema: storeProfileSchema, headers: etagHeader },
    304: { description: 'The store profile has not changed.', headers: etagHeader },
  },
  async read(_, context) {
    return respondWithEtag(200, serializeStoreProfile(await findStoreProfile(context.db), context))
  },
})

const updateStoreProfileOperation = defineOperation('updateStoreProfile', 'PATCH /store/profile', {
  ...storeOperation,
  summary: 'Change the store profile',
  description: 'Changes the given fields.',
  scope: 'keys:manage',
  body: storeProfileUpdateSchema,
  requestHeaders: ifMatchParameter,
  responses: {
    200: {
      description: 'The store profile after the change.',
      schema: storeProfileSchema,
      headers: etagHeader,
    },
  },
  errors: [apiErrors.precondition_failed],
  subject: () => 'store profile',
  async write({ body }, context) {
    const { trx, now } = context
    const profile = await findStoreProfileForUpdate(trx)
    requireIfMatch(serializeStoreProfile(profile, context), context)
    const next = updatedStoreProfile(profile, body)
    if (!isSameStoreProfile(next, profile)) {
      await updateStoreProfile(trx, next, now)
      await recordAudit(trx, context, 'store.updated', 'store profile')
    }
    return respondWithEtag(200, serializeStoreProfile(next, context))
  },
})

export const storeRoutes: Operation[] = [getStoreProfileOperation, updateStoreProfileOperation]
