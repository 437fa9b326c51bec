import * as z from 'zod'
import { defineOperation, type Operation, respond } from '../api/operation.ts'
import { int64 } from '../api/validation.ts'
import type { KeyEnvironment } from '../auth/apiKey.ts'
import type { AuthenticatedPrincipal } from '../auth/authenticator.ts'
import { timestamp } from '../clock.ts'
import { effectiveLimits } from '../limits/plans.ts'
import { findLimitState } from '../limits/queries.ts'
import {
  advance,
  currentWindows,
  emptyLimitState,
  exemptLimits,
  type Window,
  type Windows,
} from '../limits/window.ts'
import type { Key } from './key.ts'
import { type KeyRoutesOptions, keyOrNotFound } from './routes.ts'
import {
  keyByIdOperation,
  keyNameSchema,
  nullableTimestampSchema,
  planSchema,
  scopesSchema,
} from './schemas.ts'

const window = z
  .object({
    limit: z.int().meta({ description: 'Requests allowed in the window.', minimum: 0, format: 'int32' }),
    remaining: z.int().meta({ description: 'Requests left in the window.', minimum: 0, format: 'int32' }),
    resetsAt: nullableTimestampSchema('When the window ends; null if no window is open.'),
  })
  .meta({ id: 'LimitWindow', description: 'A rate limit window of a key.' })
const limits = z
  .object({
    keyId: int64().meta({ description: 'The identifier of the key.' }),
    name: keyNameSchema,
    scopes: scopesSchema,
    environment: z
      .enum(['production', 'staging'] satisfies KeyEnvironment[])
      .meta({ id: 'Environment', description: 'The environment that the key belongs to.' }),
    plan: planSchema,
    minute: window,
    day: window,
    bannedUntil: nullableTimestampSchema('When the ban on this key ends; null if it is not banned.'),
  })
  .meta({
    id: 'Limits',
    description: 'An API key with its plan, rate limit windows and ban.',
    examples: [
      {
        keyId: 7,
        name: 'Partner feed',
        scopes: ['pets:read'],
        environment: 'production',
        plan: 'free',
        minute: { limit: 60, remaining: 58, resetsAt: '2026-11-15T12:00:41.250Z' },
        day: { limit: 1000, remaining: 958, resetsAt: '2026-11-16T08:12:03.004Z' },
        bannedUntil: null,
      },
    ],
  })

export const getLimitsOperation = (environment: KeyEnvironment): Operation =>
  defineOperation('getLimits', 'GET /limits', {
    tag: 'Limits',
    summary: 'Get your rate limits',
    description: `Returns your API key, its plan, both rate limit windows and any ban. These requests do not count towards the windows. The first ${exemptLimits.perMinute} requests a minute with one key are exempt; further requests, and requests with a banned key, count towards the limit of your IP address, like requests without a key. A 429 response here never counts towards a ban.`,
    rateLimitExempt: true,
    responses: { 200: { description: 'The rate limits of the API key.', schema: limits } },
    read(_input, { principal }) {
      const { key, decision } = principal as AuthenticatedPrincipal
      return respond(200, serializeLimits(key, environment, decision.windows, decision.bannedUntil))
    },
  })

/** The same for an operator, about any key. */
export const getKeyLimitsOperation = ({ environment, rateLimiter }: KeyRoutesOptions): Operation =>
  defineOperation('getKeyLimits', 'GET /keys/{keyId}/limits', {
    ...keyByIdOperation,
    stability: 'beta',
    summary: 'Get the rate limits of a key',
    description: 'The same as `GET /limits` for the key itself.',
    responses: { 200: { description: 'The rate limits of the API key.', schema: limits } },
    async read({ params: { keyId } }, { db, now }) {
      await rateLimiter.flush()
      const key = await keyOrNotFound(db, keyId)
      const state = advance((await findLimitState(db, key.id))?.state ?? emptyLimitState, now)
      const windows = currentWindows(state, effectiveLimits(key.plan, key.limits ?? {}), now)
      const bannedUntil = (key.bannedUntil ?? 0) > now ? (key.bannedUntil ?? 0) : 0
      return respond(200, serializeLimits(key, environment, windows, bannedUntil))
    },
  })

const serializeLimits = (
  key: Pick<Key, 'id' | 'name' | 'plan'> & { readonly scopes: Iterable<string> },
  environment: KeyEnvironment,
  windows: Windows,
  bannedUntil: number,
) => ({
  keyId: key.id,
  name: key.name,
  scopes: [...key.scopes],
  environment,
  plan: key.plan,
  minute: serializeWindow(windows.minute),
  day: serializeWindow(windows.day),
  bannedUntil: bannedUntil === 0 ? null : timestamp(bannedUntil),
})

const serializeWindow = ({ limit, remaining, resetsAt, isOpen }: Window) => ({
  limit,
  remaining,
  resetsAt: isOpen ? timestamp(resetsAt) : null,
})
