import * as z from 'zod'
import { ApiError, apiErrors, orNotFound } from '../api/errors.ts'
import { etagHeader, ifMatchParameter, requireIfMatch, respondWithEtag } from '../api/etag.ts'
import { defineOperation, type Operation, respond, type WriteContext } from '../api/operation.ts'
import { ListCursor, pageQuery, pageReader } from '../api/pagination.ts'
import type { KeyEnvironment } from '../auth/apiKey.ts'
import type { ApiKeyCache } from '../auth/apiKeyCache.ts'
import type { Db } from '../database/db.ts'
import type { RateLimiter } from '../limits/rateLimiter.ts'
import type { Key } from './key.ts'
import {
  createKey,
  findKey,
  findKeyForUpdate,
  listKeys,
  revokeKey,
  rotateKey,
  unbanKey,
  updateKey,
} from './queries.ts'
import {
  keyByIdOperation,
  keyErrors,
  keyListSchema,
  keyOperation,
  keyRotationSchema,
  keySchema,
  keyUpdateSchema,
  keyWithSecretSchema,
  newKeySchema,
  newKeySettings,
  serializeKey,
  updatedKeySettings,
} from './schemas.ts'

const revokedMessage = 'This API key is revoked. Revocation is permanent: create a new key.'
const readPage = pageReader(new ListCursor('keys'), listKeys, serializeKey)

export const keyOrNotFound = async (db: Db, id: bigint): Promise<Key> =>
  orNotFound(await findKey(db, Number(id)), keyErrors.key_not_found)

export type KeyRoutesOptions = {
  readonly apiKeyCache: ApiKeyCache
  readonly environment: KeyEnvironment
  /** Its counts are written to the database before they are read from it. */
  readonly rateLimiter: Pick<RateLimiter, 'flush'>
}

/** What the ETag is made of. The last use and the ban change without a change of the key by its operator. */
const etagSourceOfKey = ({ lastUsedAt: _, bannedUntil: __, ...key }: Key): object => key

const respondWithKey = (status: number, key: Key, now: number, secret?: string) =>
  respondWithEtag(status, { ...serializeKey(key, now), key: secret }, etagSourceOfKey(key))

/**
 * Locks a key that matches the `If-Match` header, and invalidates the key cache after the commit, so that the next request
 * sees the change.
 */
async function keyToChange(keyId: bigint, context: WriteContext, apiKeyCache: ApiKeyCache) {
  const { trx, afterCommit } = context
  const key = orNotFound(await findKeyForUpdate(trx, Number(keyId)), keyErrors.key_not_found)
  requireIfMatch(etagSourceOfKey(key), context)
  afterCommit(() => apiKeyCache.invalidate())
  return key
}

const listKeysOperation = ({ rateLimiter }: KeyRoutesOptions) =>
  defineOperation('listKeys', 'GET /keys', {
    ...keyOperation,
    summary: 'List keys',
    description: 'Newest first, including revoked keys.',
    query: z.object(pageQuery),
    responses: { 200: { description: 'One page of keys.', schema: keyListSchema } },
    async read(input, context) {
      await rateLimiter.flush()
      return readPage(input, context)
    },
  })

const createKeyOperation = ({ apiKeyCache, environment }: KeyRoutesOptions) =>
  defineOperation('createKey', 'POST /keys', {
    ...keyOperation,
    summary: 'Create a key',
    description:
      'The response contains the secret in `key`. It is shown only once, because only its hash is stored.',
    hasSecretResponse: true,
    body: newKeySchema,
    responses: {
      201: { description: 'The key is created.', schema: keyWithSecretSchema, headers: etagHeader },
    },
    location: ({ id }) => `/keys/${id}`,
    async write({ body }, context) {
      const { trx, now, afterCommit } = context
      const settings = newKeySettings(body, now)
      const { key, secret } = await createKey(trx, settings, environment, context)
      afterCommit(() => apiKeyCache.invalidate())
      return respondWithKey(201, key, now, secret)
    },
  })

const getKeyOperation = ({ rateLimiter }: KeyRoutesOptions) =>
  defineOperation('getKey', 'GET /keys/{keyId}', {
    ...keyByIdOperation,
    summary: 'Get a key',
    description: 'The response does not contain the secret.',
    responses: { 200: { description: 'The key.', schema: keySchema, headers: etagHeader } },
    async read({ params: { keyId } }, { db, now }) {
      await rateLimiter.flush()
      return respondWithKey(200, await keyOrNotFound(db, keyId), now)
    },
  })

const updateKeyOperation = ({ apiKeyCache }: KeyRoutesOptions) =>
  defineOperation('updateKey', 'PATCH /keys/{keyId}', {
    ...keyByIdOperation,
    summary: 'Change a key',
    description:
      'Omitted fields keep their values. The change takes effect on all instances within two seconds.',
    body: keyUpdateSchema,
    requestHeaders: ifMatchParameter,
    responses: { 200: { description: 'The updated key.', schema: keySchema, headers: etagHeader } },
    errors: [apiErrors.precondition_failed],
    async write({ params, body }, context) {
      const { trx, now } = context
      const key = await keyToChange(params.keyId, context, apiKeyCache)
      const settings = updatedKeySettings(key, body, now)
      return respondWithKey(200, await updateKey(trx, key, settings, context), now)
    },
  })

const revokeKeyOperation = ({ apiKeyCache }: KeyRoutesOptions) =>
  defineOperation('revokeKey', 'DELETE /keys/{keyId}', {
    ...keyByIdOperation,
    summary: 'Revoke a key',
    description: 'Revocation is permanent. The key stays in the list, with `revokedAt`.',
    requestHeaders: ifMatchParameter,
    responses: { 204: { description: 'The key is revoked.' } },
    errors: [apiErrors.precondition_failed],
    async write({ params }, context) {
      const key = await keyToChange(params.keyId, context, apiKeyCache)
      await revokeKey(context.trx, key, context)
      return respond(204)
    },
  })

const rotateKeyOperation = ({ apiKeyCache, environment }: KeyRoutesOptions) =>
  defineOperation('rotateKey', 'POST /keys/{keyId}/rotate', {
    ...keyByIdOperation,
    summary: 'Rotate the secret of a key',
    description:
      'Returns the new secret. It is shown only once. The previous secret stays valid for `overlapSeconds`, and both share the rate limits of the key. At most two secrets are valid: if you rotate again within the overlap, the oldest ends immediately.',
    hasSecretResponse: true,
    body: keyRotationSchema,
    isBodyOptional: true,
    requestHeaders: ifMatchParameter,
    responses: {
      200: { description: 'The key with its new secret.', schema: keyWithSecretSchema, headers: etagHeader },
    },
    errors: [apiErrors.illegal_transition, apiErrors.precondition_failed],
    async write({ params, body }, context) {
      const { trx, now } = context
      const { id, revokedAt } = await keyToChange(params.keyId, context, apiKeyCache)
      if (revokedAt !== undefined) throw new ApiError(apiErrors.illegal_transition, revokedMessage)
      const overlapMs = (body.overlapSeconds ?? 0) * 1000
      const { key, secret } = await rotateKey(trx, id, environment, overlapMs, context)
      return respondWithKey(200, key, now, secret)
    },
  })

const liftKeyBanOperation = ({ apiKeyCache }: KeyRoutesOptions) =>
  defineOperation('liftKeyBan', 'DELETE /keys/{keyId}/ban', {
    ...keyByIdOperation,
    summary: 'Lift the ban on a key',
    description: 'The key can be used again immediately. The lifted ban does not make later bans longer.',
    requestHeaders: ifMatchParameter,
    responses: { 204: { description: 'The key is not banned.' } },
    errors: [apiErrors.precondition_failed],
    async write({ params }, context) {
      const key = await keyToChange(params.keyId, context, apiKeyCache)
      await unbanKey(context.trx, key, context)
      return respond(204)
    },
  })

export const keyRoutes = (options: KeyRoutesOptions): Operation[] => [
  listKeysOperation(options),
  createKeyOperation(options),
  getKeyOperation(options),
  updateKeyOperation(options),
  revokeKeyOperation(options),
  rotateKeyOperation(options),
  liftKeyBanOperation(options),
]
