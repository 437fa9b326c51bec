import * as z from 'zod'
import { dateTimeSchema } from '../api/dateTime.ts'
import { defineErrors, validationFailed } from '../api/errors.ts'
import { pageSchema } from '../api/pagination.ts'
import { int64, int64Text, integer, nameText, nonBlankText, timestampSchema } from '../api/validation.ts'
import { optionalTimestamp, timestamp } from '../clock.ts'
import { customLimitMax, customStreamsMax, planNames } from '../limits/plans.ts'
import { defaultScopes, type Key, type KeySettings, scopes, validateKeySettings } from './key.ts'

const keyNameLengthMax = 100
const originsMax = 20
/** Scheme, a host name of at most 253 characters, and a port. */
const originLengthMax = 'https://'.length + 253 + ':65535'.length
export const secretOverlapSecondsMax = 30 * 24 * 60 * 60

export const keyErrors = defineErrors({
  key_not_found: [404, 'There is no API key with this id. GET /keys lists the existing ones.'],
})

const newKeyExample = {
  name: 'Web site',
  plan: 'pro',
  scopes: ['pets:read'],
  origins: ['https://shelter.example'],
}
export const keyNameSchema = nameText(keyNameLengthMax, 'What the key is for. Must not be blank.')
export const storedKeyName = nonBlankText(keyNameLengthMax)
export const planSchema = z
  .enum(planNames)
  .meta({ id: 'Plan', description: 'Determines the rate limits of a key.' })
const scope = z.enum(scopes).meta({ id: 'Scope', description: 'A permission of a key.' })
const customLimitsSchema = z
  .object({
    perMinute: integer(1, customLimitMax).meta({ description: 'Requests per minute.' }).optional(),
    perDay: integer(1, customLimitMax).meta({ description: 'Requests per day.' }).optional(),
    streams: integer(1, customStreamsMax)
      .meta({ description: 'Concurrent event streams per instance.' })
      .optional(),
  })
  .meta({
    id: 'OwnLimits',
    description:
      'Overrides the limits of an `enterprise` key. The defaults are 10,000 requests a minute, 1,000,000 a day and 1,000 event streams.',
  })
export const scopesSchema = z
  .array(scope)
  .max(scopes.length)
  .meta({ description: 'The permissions of the key.' })
/** An origin as browsers send it: scheme, host and port without a path. */
const isOrigin = (text: string): boolean =>
  text.length <= originLengthMax &&
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).origin === text
const storedOrigin = z
  .string()
  .refine(isOrigin, { message: 'must be an origin such as https://example.com', abort: true })
const origin = storedOrigin
  // The URL standard allows `*` in a host. Origins are compared as text, so such an origin never matches.
  .refine((text) => !text.includes('*'), 'must be one host, without "*": list each origin')
  .meta({
    format: 'uri',
    maxLength: originLengthMax,
    pattern: '^https?://[^\\sA-Z/?#@]+$',
  })
/** For imports: version 1.0.0 accepted origins with a wildcard, so exports can contain them. */
export const storedOriginsSchema = z.array(storedOrigin).max(originsMax)
const originsSchema = z.array(origin).max(originsMax).meta({
  id: 'Origins',
  description:
    'Browser origins that the key is restricted to, such as `https://shelter.example`. A key with origins is publishable: it can be embedded in a web page and is read-only.',
})
const expiryDescription = 'When the key expires. Absent if it does not expire.'
const secret = z.string().meta({
  pattern: '^ps_(live|test)_[0-9A-Za-z]{36}$',
  description: 'The secret. It is shown only once.',
})

export const newKeySchema = z
  .object({
    name: keyNameSchema,
    plan: planSchema.optional(),
    limits: customLimitsSchema.optional().meta({ description: 'Only for keys with the plan `enterprise`.' }),
    scopes: scopesSchema.optional(),
    origins: originsSchema.optional(),
    expiresAt: dateTimeSchema().meta({ description: expiryDescription }).optional(),
  })
  .meta({
    id: 'NewKey',
    description:
      'A key to create. The default `plan` is `free`. By default a key can read and write pets, categories and orders; a key with `origins` can read pets and categories.',
    examples: [newKeyExample],
  })
export const keyUpdateSchema = z
  .object({
    ...newKeySchema.shape,
    name: keyNameSchema.optional(),
    limits: customLimitsSchema
      .nullable()
      .optional()
      .meta({ description: 'Only for keys with the plan `enterprise`. `null` removes them.' }),
    expiresAt: dateTimeSchema()
      .nullable()
      .optional()
      .meta({ description: 'When the key expires. `null` removes the expiry.' }),
  })
  .meta({
    id: 'KeyChange',
    description: 'The fields to change. Omitted fields keep their values.',
    examples: [{ plan: 'business' }],
  })

export const nullableTimestampSchema = (description: string) =>
  z.iso.datetime().nullable().meta({ description })
const keyExample = { id: 7, ...newKeyExample, createdAt: '2026-11-15T12:00:00.000Z', lastUsedAt: null }
export const keySchema = z
  .object({
    id: int64().meta({ description: 'Unique identifier, assigned by the service.' }),
    name: keyNameSchema,
    plan: planSchema,
    limits: customLimitsSchema.optional().meta({ description: 'Only for keys with the plan `enterprise`.' }),
    scopes: scopesSchema,
    origins: originsSchema,
    createdAt: timestampSchema('When the key was created.'),
    lastUsedAt: nullableTimestampSchema(
      'When the key was last used, to the second. `null` if it has not been used.',
    ),
    expiresAt: timestampSchema(expiryDescription).optional(),
    revokedAt: timestampSchema('When the key was revoked. Absent if it is not revoked.').optional(),
    bannedUntil: timestampSchema('When the ban on the key ends. Absent if the key is not banned.').optional(),
  })
  .meta({ id: 'Key', description: 'An API key, without its secret.', examples: [keyExample] })
/** A key for responses and events. Undefined fields are left out of the JSON. */
export const serializeKey = (key: Key, now: number) => ({
  ...key,
  createdAt: timestamp(key.createdAt),
  lastUsedAt: optionalTimestamp(key.lastUsedAt) ?? null,
  expiresAt: optionalTimestamp(key.expiresAt),
  revokedAt: optionalTimestamp(key.revokedAt),
  bannedUntil: optionalTimestamp((key.bannedUntil ?? 0) > now ? key.bannedUntil : undefined),
})
export const keyListSchema = pageSchema(keySchema, 'Keys', 'keys, newest first')
const keySecret = z
  .object({ key: secret })
  .meta({ id: 'KeySecret', description: 'The secret of an API key.' })
export const keyWithSecretSchema = z.intersection(keySchema, keySecret).meta({
  id: 'KeyWithSecret',
  description: 'An API key with its secret.',
  // Well-formed with a wrong checksum, so it can never be a real key.
  examples: [{ ...keyExample, key: 'ps_live_ThisIsOnlyAnExampleNotARealKey000000' }],
})
export const keyRotationSchema = z
  .object({
    overlapSeconds: integer(0, secretOverlapSecondsMax)
      .meta({ description: 'How long the previous secret stays valid, in seconds. The default is 0.' })
      .optional(),
  })
  .meta({ id: 'Rotation', description: 'Options of a rotation.', examples: [{ overlapSeconds: 3600 }] })

export const keyOperation = { tag: 'Keys', scope: 'keys:manage' } as const
export const keyByIdOperation = {
  ...keyOperation,
  params: z.object({ keyId: int64Text().meta({ description: 'The identifier of the key.' }) }),
  notFound: keyErrors.key_not_found,
} as const

/** The settings of a new key, validated as a whole. */
export function newKeySettings(body: z.output<typeof newKeySchema>, now: number): KeySettings {
  const { name, origins = [] } = body
  const defaults = { name, plan: 'free', limits: undefined, origins, expiresAt: undefined } as const
  return updatedKeySettings({ ...defaults, scopes: defaultScopes(origins) }, body, now)
}

/** The settings of a key after a change, validated as a whole. An expiry that is not changed may lie in the past. */
export function updatedKeySettings(key: KeySettings, change: z.output<typeof keyUpdateSchema>, now: number) {
  const plan = change.plan ?? key.plan
  // A change to another plan than enterprise drops the limits of the key.
  const unchangedLimits = plan === 'enterprise' ? key.limits : undefined
  const limits = change.limits === undefined ? unchangedLimits : (change.limits ?? undefined)
  const settings = {
    name: change.name ?? key.name,
    plan,
    limits: limits as KeySettings['limits'],
    scopes: change.scopes ?? key.scopes,
    origins: change.origins ?? key.origins,
    expiresAt: change.expiresAt === undefined ? key.expiresAt : (change.expiresAt ?? undefined),
  }
  const problems = validateKeySettings(settings, change.expiresAt === undefined ? 0 : now)
  if (problems.length === 0) return settings
  throw validationFailed(problems.map(({ field, message }) => ({ path: `/${field}`, message })))
}
