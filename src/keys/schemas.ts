import * as z from 'zod'
import { validationFailed } from '../http/errors.ts'
import { integer } from '../http/validation.ts'
import {
  defaultScopes,
  isKeyName,
  isOrigin,
  type Key,
  type KeySettings,
  nameLengthMax,
  originsMax,
  overlapSecondsMax,
  scopes,
  settingsProblems,
} from './key.ts'
import { ownLimitMax, planNames } from './plans.ts'

/** What callers send and see of keys. */

const time = z.iso.datetime({ error: 'must be a time such as 2027-01-31T12:00:00Z' })
const keyName = z
  .string()
  .refine(isKeyName, `must be 1 to ${nameLengthMax} characters and not blank`)
  .meta({ minLength: 1, maxLength: nameLengthMax, description: 'What the key is for.' })
const plan = z.enum(planNames)
const ownLimits = z
  .object({ perMinute: integer(1, ownLimitMax).optional(), perDay: integer(1, ownLimitMax).optional() })
  .meta({ id: 'OwnLimits', description: "An enterprise key's own limits; 10,000 and 1,000,000 unless set." })
const keyScopes = z.array(z.enum(scopes)).max(scopes.length).meta({ description: 'What the key may do.' })
const origins = z
  .array(z.string().refine(isOrigin, 'must be an origin such as https://example.com'))
  .max(originsMax)
  .meta({
    description: 'Browser origins the key is locked to. With any, it is a publishable key and only reads.',
  })

export const newKey = z
  .object({
    name: keyName,
    plan: plan.optional(),
    limits: ownLimits.optional(),
    scopes: keyScopes.optional(),
    origins: origins.optional(),
    expiresAt: time.optional(),
  })
  .meta({ id: 'NewKey', description: 'A key to make. Without `plan` it is `free`.' })
export const keyChange = z
  .object({
    name: keyName.optional(),
    plan: plan.optional(),
    limits: ownLimits.nullable().optional(),
    scopes: keyScopes.optional(),
    origins: origins.optional(),
    expiresAt: time.nullable().optional(),
  })
  .meta({
    id: 'KeyChange',
    description: 'What is to change; what is left out stays. `null` takes limits or expiry away.',
  })

const shownFields = {
  id: z.int().meta({ description: 'Assigned by the service.' }),
  name: keyName,
  plan,
  limits: ownLimits.optional(),
  scopes: keyScopes,
  origins,
  createdAt: time,
  lastUsedAt: time.nullable().meta({ description: 'To the second; null while it was never used.' }),
  expiresAt: time.optional(),
  revokedAt: time.optional(),
  bannedUntil: time.optional(),
}
export const shownKey = z
  .object(shownFields)
  .meta({ id: 'Key', description: 'An API key, without its secret.' })
export const shownKeys = z
  .array(shownKey)
  .meta({ id: 'Keys', description: 'One page of keys, newest first.' })
export const keyWithSecret = z
  .object({ ...shownFields, key: z.string().meta({ description: 'The secret. It is shown this once.' }) })
  .meta({ id: 'KeyWithSecret', description: 'An API key with its secret.' })
export const rotation = z
  .object({ overlapSeconds: integer(0, overlapSecondsMax).optional() })
  .meta({ id: 'Rotation', description: 'How long the old secret lives on; not at all unless given.' })

export const newSettings = (body: z.output<typeof newKey>): KeySettings => ({
  name: body.name,
  plan: body.plan ?? 'free',
  limits: body.limits as KeySettings['limits'],
  origins: body.origins ?? [],
  scopes: body.scopes ?? defaultScopes(body.origins ?? []),
  expiresAt: body.expiresAt === undefined ? undefined : Date.parse(body.expiresAt),
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
    expiresAt:
      change.expiresAt === undefined
        ? key.expiresAt
        : change.expiresAt === null
          ? undefined
          : Date.parse(change.expiresAt),
  }
}

export function checkSettings(settings: KeySettings, now: number): void {
  const problems = settingsProblems(settings, now)
  if (problems.length > 0)
    throw validationFailed(problems.map(({ field, message }) => ({ path: `/${field}`, message })))
}
