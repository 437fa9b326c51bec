import { ApiError, type ErrorDetail } from '../api/errors.ts'
import { validate } from '../api/validation.ts'
import { type AuditContext, byCommand } from '../audit/audit.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import type { Key } from '../keys/key.ts'
import {
  createKey,
  findKeyForUpdate,
  listKeys,
  revokeKey,
  rotateKey,
  unbanKey,
  updateKey,
} from '../keys/queries.ts'
import {
  keyUpdateSchema,
  newKeySchema,
  newKeySettings,
  secretOverlapSecondsMax,
  serializeKey,
  updatedKeySettings,
} from '../keys/schemas.ts'
import { customLimitMax, customStreamsMax, effectiveLimits } from '../limits/plans.ts'
import { parseInteger, printResult, UsageError, writeOutput } from './cli.ts'
import { withDatabase } from './database.ts'
import type { Call } from './interface/define.ts'
import { formatTable } from './output/table.ts'

type Values = {
  readonly name?: string
  readonly plan?: string
  readonly perMinute?: string
  readonly perDay?: string
  readonly streams?: string
  readonly scope?: readonly string[]
  readonly origin?: readonly string[]
  readonly expiresAt?: string
  readonly overlapSeconds?: string
  readonly json?: boolean
}
type Invocation = {
  readonly database: Database
  readonly config: Config
  readonly values: Values
  /** 0 for an action without an id. */
  readonly id: number
  readonly now: number
  readonly audit: AuditContext
}
type Action = (invocation: Invocation) => Promise<void>

const create: Action = async ({ database, config, values, now, audit }) => {
  const settings = newKeySettings(validate(newKeySchema, toRequestBody(values), 'body'), now)
  const { environment } = config
  const { key, secret } = await database.write((trx) => createKey(trx, settings, environment, audit))
  printSecret(values.json, key, secret, now)
}

const list: Action = async ({ database, values, now }) => {
  const keys = await listKeys(database.read, Number.MAX_SAFE_INTEGER)
  if (values.json) for (const key of keys) writeOutput(`${JSON.stringify(serializeKey(key, now))}\n`)
  else if (keys.length > 0) writeOutput(`${formatKeys(keys, now)}\n`)
}

const update: Action = async ({ database, values, id, now, audit }) => {
  if (Object.keys(values).every((option) => option === 'json'))
    throw new UsageError(
      `keys update needs something to change. Run "petstore keys update --help" for the settings.`,
    )
  const body = validate(keyUpdateSchema, toRequestBody(values), 'body')
  const key = await changeKey(database, id, (trx, before) =>
    updateKey(trx, before, updatedKeySettings(before, body, now), audit),
  )
  printResult(values.json, serializeKey(key, now), `Updated key ${id}:\n${formatKeys([key], now)}`)
}

const rotate: Action = async ({ database, config, values, id, now, audit }) => {
  const overlapSeconds =
    parseInteger('overlap-seconds', values.overlapSeconds, 0, secretOverlapSecondsMax) ?? 0
  const { key, secret } = await changeKey(database, id, async (trx, { revokedAt }) => {
    if (revokedAt !== undefined)
      throw new Error(`Key ${id} is revoked. Revocation is permanent: create a new key.`)
    return rotateKey(trx, id, config.environment, overlapSeconds * 1000, audit)
  })
  printSecret(values.json, key, secret, now)
}

const stateChange =
  (change: typeof revokeKey, result: string): Action =>
  async ({ database, values, id, now, audit }) => {
    const key = await changeKey(database, id, (trx, before) => change(trx, before, audit))
    printResult(values.json, serializeKey(key, now), `Key ${id} (${key.name}) ${result}.`)
  }

const actions = {
  create,
  list,
  update,
  rotate,
  revoke: stateChange(revokeKey, 'is revoked'),
  unban: stateChange(unbanKey, 'is no longer banned'),
}
export type ActionName = keyof typeof actions

/** Returns the function that runs "petstore keys NAME". */
export const runAction =
  (name: ActionName) =>
  async ({ env, options: values, args: [idText] }: Call<Values>): Promise<void> => {
    const id = idText === undefined ? 0 : parseKeyId(idText)
    try {
      await withDatabase(env, async (database, config) => {
        const now = systemClock()
        await actions[name]({ database, config, values, id, now, audit: byCommand(`keys ${name}`, now) })
      })
    } catch (error) {
      throw error instanceof ApiError && error.details ? new UsageError(optionProblems(error.details)) : error
    }
  }

function parseKeyId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`"${text}" is not the id of a key. "petstore keys list" shows the ids.`)
}

const changeKey = <T>(database: Database, id: number, change: (trx: Trx, before: Key) => Promise<T>) =>
  database.write(async (trx) => {
    const before = await findKeyForUpdate(trx, id)
    if (!before) throw new Error(`There is no key ${id}. "petstore keys list" shows the keys.`)
    return change(trx, before)
  })

/** The options as a request body, so that the schemas of the API validate them. */
function toRequestBody(values: Values) {
  const limit = (option: string, text: string | undefined, max: number) => {
    const value = parseInteger(option, text, 1, max)
    return value === undefined ? undefined : BigInt(value)
  }
  const limits = {
    perMinute: limit('per-minute', values.perMinute, customLimitMax),
    perDay: limit('per-day', values.perDay, customLimitMax),
    streams: limit('streams', values.streams, customStreamsMax),
  }
  return {
    name: values.name,
    plan: values.plan,
    scopes: values.scope,
    origins: values.origin,
    limits: Object.values(limits).some(Boolean) ? limits : undefined,
    expiresAt: values.expiresAt === 'never' ? null : values.expiresAt,
  }
}

/** Validation problems of the request body in terms of the options. */
const optionProblems = (details: readonly ErrorDetail[]): string =>
  details
    .map(({ path, message }) => {
      const field = path.split('/').findLast((part) => part !== '' && !/^\d+$/.test(part)) ?? ''
      if (field === 'limits') return `--per-minute, --per-day and --streams ${message}.`
      const option = `--${field.replace(/s$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
      // The path of a whole list stands for all options of that name.
      return path.endsWith('s')
        ? `The ${option} options ${message.replace(/^must have (at most \d+) entries$/, 'must be $1')}.`
        : `${option} ${message}.`
    })
    .join('\n')

function printSecret(isJson: boolean | undefined, key: Key, secret: string, now: number): void {
  const sentence = `Key ${key.id} (${key.name}, ${key.plan}). Save its secret now: it is shown only once.\n\n  ${secret}`
  printResult(isJson, { ...serializeKey(key, now), key: secret }, sentence)
}

const headings = ['ID', 'NAME', 'PLAN', 'STATUS', 'LIMITS', 'EXPIRES', 'LAST USED', 'SCOPES', 'ORIGINS']

/** A table of keys, or a block for each of them if the terminal is too narrow. */
export function formatKeys(keys: readonly Key[], now: number, width = process.stdout.columns): string {
  const rows = keys.map((key) => {
    const { id, name, plan, revokedAt, bannedUntil, lastUsedAt, expiresAt } = serializeKey(key, now)
    const { perMinute, perDay, streams } = effectiveLimits(plan, key.limits ?? {})
    const isExpired = key.expiresAt !== undefined && key.expiresAt <= now
    const usable = bannedUntil === undefined ? 'active' : `banned until ${bannedUntil}`
    const status = revokedAt !== undefined ? 'revoked' : isExpired ? 'expired' : usable
    const limits = `${perMinute}/min ${perDay}/day ${streams} streams`
    const lists = [key.scopes, key.origins].map((values) => values.join(',') || '-')
    return [String(id), name, plan, status, limits, expiresAt ?? 'never', lastUsedAt ?? 'never', ...lists]
  })
  return formatTable(headings, rows, width)
}
