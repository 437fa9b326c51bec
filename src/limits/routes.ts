import * as z from 'zod'
import { timestamp } from '../clock.ts'
import { ApiError } from '../http/errors.ts'
import { answer, type Operation, operation } from '../http/operation.ts'
import { plan } from '../keys/schemas.ts'
import type { Gate } from './gate.ts'
import type { Window } from './window.ts'

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
    plan,
    minute: window,
    day: window,
    bannedUntil: time
      .nullable()
      .meta({ description: 'When the ban on this key ends; null while there is none.' }),
  })
  .meta({ id: 'Limits', description: "The caller's plan, windows and ban." })

const example = {
  plan: 'free',
  minute: { limit: 60, remaining: 58, resetsAt: '2026-11-15T12:00:41.250Z' },
  day: { limit: 1000, remaining: 958, resetsAt: '2026-11-16T08:12:03.004Z' },
  bannedUntil: null,
}

export function limitRoutes(gate: Gate): Operation[] {
  return [
    operation({
      id: 'getLimits',
      method: 'GET',
      path: '/limits',
      tag: 'Limits',
      summary: 'See your limits',
      description: 'Your plan, both windows and any ban. Free of charge, and open to a banned key.',
      isFree: true,
      answers: { 200: { description: "The caller's limits.", schema: limits, example } },
      async read(_input, { caller }) {
        const { known, problem } = await gate.look(caller.token)
        if (!known) throw new ApiError('invalid_api_key', problem)
        const { key, decision } = known
        const { outcome, windows, bannedUntil } = decision
        return answer(200, {
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
