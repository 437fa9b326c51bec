import * as z from 'zod'
import { type Operation, operation, respond } from '../api/operation.ts'
import { int64 } from '../api/validation.ts'
import type { KeyEnvironment } from '../auth/apiKey.ts'
import type { AdmittedCaller } from '../auth/authenticator.ts'
import { timestamp } from '../clock.ts'
import { keyNameSchema, planSchema, scopesSchema } from '../keys/schemas.ts'
import { freeLimits, type Window } from './window.ts'

const time = z.iso.datetime()
const window = z
  .object({
    limit: z.int().meta({ description: 'Requests that the window admits.', minimum: 0, format: 'int32' }),
    remaining: z.int().meta({ description: 'Requests that are left in it.', minimum: 0, format: 'int32' }),
    resetsAt: time.nullable().meta({ description: 'When it ends; null while none is open.' }),
  })
  .meta({ id: 'LimitWindow', description: 'One of the two windows of a key.' })
const limits = z
  .object({
    keyId: int64().meta({ description: 'The identifier of the key.' }),
    name: keyNameSchema,
    scopes: scopesSchema,
    environment: z
      .enum(['production', 'staging'] satisfies KeyEnvironment[])
      .meta({ description: 'The environment that the key is for.' }),
    plan: planSchema,
    minute: window,
    day: window,
    bannedUntil: time
      .nullable()
      .meta({ description: 'When the ban on this key ends; null while there is none.' }),
  })
  .meta({ id: 'Limits', description: "Who the caller is, and the caller's plan, windows and ban." })

const example = {
  keyId: 7,
  name: 'Partner feed',
  scopes: ['pets:read'],
  environment: 'production',
  plan: 'free',
  minute: { limit: 60, remaining: 58, resetsAt: '2026-11-15T12:00:41.250Z' },
  day: { limit: 1000, remaining: 958, resetsAt: '2026-11-16T08:12:03.004Z' },
  bannedUntil: null,
}

export function limitRoutes(environment: KeyEnvironment): Operation[] {
  return [
    operation({
      id: 'getLimits',
      method: 'GET',
      path: '/limits',
      tag: 'Limits',
      summary: 'See your limits',
      description: `Who you are, your plan, both windows and any ban. It takes nothing from these windows. Up to ${freeLimits.perMinute} requests a minute with one key are free of charge; further ones, and those with a banned key, count for the client's address, as requests without a key do. A 429 here never counts towards a ban.`,
      rateLimitExempt: true,
      responses: { 200: { description: "The caller's limits.", schema: limits, example } },
      read(_input, { principal: caller }) {
        // Admission has found all of this: a second look would cost a shared store another round trip.
        const { key, decision } = caller as AdmittedCaller
        const { outcome, windows, bannedUntil } = decision
        return respond(200, {
          keyId: key.id,
          name: key.name,
          scopes: [...key.scopes],
          environment,
          plan: key.plan,
          minute: shown(windows.minute),
          day: shown(windows.day),
          bannedUntil: outcome === 'banned' ? timestamp(bannedUntil) : null,
        })
      },
    }),
  ]
}

const shown = ({ limit, remaining, resetsAt, isOpen }: Window) => ({
  limit,
  remaining,
  resetsAt: isOpen ? timestamp(resetsAt) : null,
})
