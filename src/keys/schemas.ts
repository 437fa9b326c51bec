import * as z from 'zod'
import { dateTime } from '../api/dateTime.ts'
import { validationFailed } from '../api/errors.ts'
import { int64, integer, notBlankPattern } from '../api/validation.ts'
import { ownLimitMax, ownStreamsMax, planNames } from '../limits/plans.ts'
import {
  defaultScopes,
  isKeyName,
  isOrigin,
  type Key,
  type KeySettings,
  nameLengthMax,
  originLengthMax,
  originsMax,
  overlapSecondsMax,
  scopes,
  settingsProblems,
} from './key.ts'

/** What callers send and see of keys. */

const time = z.iso.datetime()
export const keyName = z
  .string()
  .refine(isKeyName, `must be 1 to ${nameLengthMax} characters and not blank`)
  .meta({
    minLength: 1,
    maxLength: nameLengthMax,
    pattern: notBlankPattern,
    description: 'What the key is for; not blank.',
  })
export const plan = z
  .enum(planNames)
  .meta({ id: 'Plan', description: 'Decides how many requests a key is allowed.' })
const scope = z.enum(scopes).meta({ id: 'Scope', description: 'One thing that a key may do.' })
const ownLimits = z
  .object({
    perMinute: integer(1, ownLimitMax).meta({ description: 'Requests per minute.' }).optional(),
    perDay: integer(1, ownLimitMax).meta({ description: 'Requests per day.' }).optional(),
    streams: integer(1, ownStreamsMax)
      .meta({ description: 'Event streams that are open at the same time, at each instance.' })
      .optional(),
  })
  .meta({
    id: 'OwnLimits',
    description:
      'The limits of an `enterprise` key: 10,000 requests a minute, 1,000,000 a day and 1,000 event streams, save for what is given here.',
  })
export const keyScopes = z.array(scope).max(scopes.length).meta({ description: 'What the key may do.' })
const origin = z.string().refine(isOrigin, 'must be an origin such as https://example.com').meta({
  format: 'uri',
  maxLength: originLengthMax,
  pattern: '^https?://[^\\sA-Z/?#@]+$',
})
export const origins = z.array(origin).max(originsMax).meta({
  id: 'Origins',
  description:
    'Browser origins that the key is locked to, such as `https://shelter.example`. With any, it is a publishable key: it may stand in a web page, and may only read.',
})
const expiryDescription = 'When the key stops working; never unless given.'
const secret = z.string().meta({
  pattern: '^ps_(live|test)_[0-9A-Za-z]{36}$',
  description: 'The secret itself. It is shown this once.',
})

export const newKey = z
  .object({
    name: keyName,
    plan: plan.optional(),
    limits: ownLimits.optional().meta({ description: 'Only with the plan `enterprise`.' }),
    scopes: keyScopes.optional(),
    origins: origins.optional(),
    expiresAt: dateTime().meta({ description: expiryDescription }).optional(),
  })
  .meta({
    id: 'NewKey',
    description:
      'A key to make. Without `plan` it is `free`; without `scopes` it may read and write animals, categories and orders, or, with `origins`, read animals and categories.',
  })
export const keyChange = z
  .object({
    name: keyName.optional(),
    plan: plan.optional(),
    limits: ownLimits
      .nullable()
      .optional()
      .meta({ description: 'Only for a key with the plan `enterprise`; `null` removes them.' }),
    scopes: keyScopes.optional(),
    origins: origins.optional(),
    expiresAt: dateTime()
      .nullable()
      .optional()
      .meta({ description: 'When the key stops working; `null` for never.' }),
  })
  .meta({
    id: 'KeyChange',
    description: 'What is to change; what is left out stays.',
  })

const shownFields = {
  id: int64().meta({ description: 'Unique identifier, assigned by the service.' }),
  name: keyName,
  plan,
  limits: ownLimits.optional().meta({ description: 'Only of a key with the plan `enterprise`.' }),
  scopes: keyScopes,
  origins,
  createdAt: time.meta({ description: 'When the key was made.' }),
  lastUsedAt: time
    .nullable()
    .meta({ description: 'When the key was last used, to the second; null if it never was.' }),
  expiresAt: time.meta({ description: expiryDescription }).optional(),
  revokedAt: time.optional().meta({ description: 'Since when the key is revoked; absent while it is not.' }),
  bannedUntil: time
    .optional()
    .meta({ description: 'When the ban on the key ends; absent while there is none.' }),
}
export const shownKey = z
  .object(shownFields)
  .meta({ id: 'Key', description: 'An API key, without its secret.' })
export const shownKeys = z
  .array(shownKey)
  .meta({ id: 'Keys', description: 'One page of keys, newest first.' })
const keySecret = z
  .object({ key: secret })
  .meta({ id: 'KeySecret', description: 'The secret of an API key.' })
export const keyWithSecret = z
  .intersection(shownKey, keySecret)
  .meta({ id: 'KeyWithSecret', description: 'An API key with its secret.' })
export const rotation = z
  .object({
    overlapSeconds: integer(0, overlapSecondsMax)
      .meta({ description: 'How long the old secret lives on, in seconds; not at all unless given.' })
      .optional(),
  })
  .meta({ id: 'Rotation', description: 'How to go from the old secret to the new one.' })

export const newSettings = (body: z.output<typeof newKey>): KeySettings => ({
  name: body.name,
  plan: body.plan ?? 'free',
  limits: body.limits as KeySettings['limits'],
  origins: body.origins ?? [],
  scopes: body.scopes ?? defaultScopes(body.origins ?? []),
  expiresAt: body.expiresAt,
})

export function changedSettings(key: Key, change: z.output<typeof keyChange>): KeySettings {
  const plan = change.plan ?? key.plan
  // Own limits go with the enterprise plan: leaving it leaves them behind.
  const limits =
    change.limits === undefined
      ? plan === 'enterprise'
        ? key.limits
        : undefined
      : (change.limits ?? undefined)
  return {
    name: change.name ?? key.name,
    plan,
    limits: limits as KeySettings['limits'],
    scopes: change.scopes ?? key.scopes,
    origins: change.origins ?? key.origins,
    expiresAt: change.expiresAt === undefined ? key.expiresAt : (change.expiresAt ?? undefined),
  }
}

export function checkSettings(settings: KeySettings, now: number): void {
  const problems = settingsProblems(settings, now)
  if (problems.length > 0)
    throw validationFailed(problems.map(({ field, message }) => ({ path: `/${field}`, message })))
}
