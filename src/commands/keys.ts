import { ApiError, type ErrorDetail } from '../api/errors.ts'
import { validate } from '../api/validation.ts'
import { type AuditContext, byCommand } from '../audit/audit.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Db } from '../database/tables.ts'
import { type Key, secretOverlapSecondsMax } from '../keys/key.ts'
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
  serializeKey,
  updatedKeySettings,
} from '../keys/schemas.ts'
import { customLimitMax, customStreamsMax } from '../limits/plans.ts'
import { parseArguments, parseInteger, printResult, UsageError } from './cli.ts'
import { withDatabase } from './database.ts'
import { formatKeys } from './formatKeys.ts'

const usage = `petstore keys create --name NAME [settings] [--json]
petstore keys list [--json]
petstore keys update ID [--name NAME] [settings] [--json]
petstore keys revoke ID [--json]
petstore keys rotate ID [--overlap-seconds N] [--json]
petstore keys unban ID [--json]

Settings:
  --plan PLAN          free (default), pro, business or enterprise
  --per-minute N       limits of an enterprise key: requests per minute,
  --per-day N          requests per day
  --streams N          and concurrent event streams
  --scope SCOPE        can be repeated
  --origin ORIGIN      can be repeated; makes the key publishable and read-only
  --expires-at TIME    such as 2027-01-31T12:00:00Z or 2027-01-31T13:00:00+01:00; with update, "never" removes the expiry

A running server applies the changes within 2 seconds.`

const settingOptions = {
  name: { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  streams: { type: 'string' },
  scope: { type: 'string', multiple: true },
  origin: { type: 'string', multiple: true },
  'expires-at': { type: 'string' },
} as const
const options = {
  ...settingOptions,
  'overlap-seconds': { type: 'string' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof parseArguments<typeof options>>['values']
type Invocation = {
  readonly database: Database
  readonly config: Config
  readonly values: Values
  /** 0 for an action without an id. */
  readonly id: number
  readonly now: number
  readonly audit: AuditContext
}
type Action = {
  readonly needsId: boolean
  /** Besides `--json`. */
  readonly options: readonly string[]
  run(call: Invocation): Promise<void>
}

const actions: Record<string, Action> = {
  create: {
    needsId: false,
    options: Object.keys(settingOptions),
    async run({ database, config, values, now, audit }) {
      const settings = newKeySettings(validate(newKeySchema, toRequestBody(values), 'body'), now)
      const { environment } = config
      const { key, secret } = await database.write((trx) => createKey(trx, settings, environment, audit))
      printSecret(values.json, key, secret, now)
    },
  },
  list: {
    needsId: false,
    options: [],
    async run({ database, values, now }) {
      const keys = await listKeys(database.read, Number.MAX_SAFE_INTEGER)
      if (values.json) for (const key of keys) console.log(JSON.stringify(serializeKey(key, now)))
      else if (keys.length > 0) console.log(formatKeys(keys, now))
    },
  },
  update: {
    needsId: true,
    options: Object.keys(settingOptions),
    async run({ database, values, id, now, audit }) {
      if (Object.keys(values).every((option) => option === 'json'))
        throw new UsageError(`keys update needs something to change.\n\n${usage}`)
      const body = validate(keyUpdateSchema, toRequestBody(values), 'body')
      const key = await changeKey(database, id, (trx, before) =>
        updateKey(trx, before, updatedKeySettings(before, body, now), audit),
      )
      printResult(values.json, serializeKey(key, now), `Updated key ${id}:\n${formatKeys([key], now)}`)
    },
  },
  revoke: stateChange(revokeKey, 'is revoked'),
  rotate: {
    needsId: true,
    options: ['overlap-seconds'],
    async run({ database, config, values, id, now, audit }) {
      const overlap = parseInteger('overlap-seconds', values['overlap-seconds'], 0, secretOverlapSecondsMax)
      const { key, secret } = await changeKey(database, id, async (trx, { revokedAt }) => {
        if (revokedAt !== undefined)
          throw new Error(`Key ${id} is revoked. Revocation is permanent: create a new key.`)
        return rotateKey(trx, id, config.environment, (overlap ?? 0) * 1000, audit)
      })
      printSecret(values.json, key, secret, now)
    },
  },
  unban: stateChange(unbanKey, 'is no longer banned'),
}

function stateChange(change: typeof revokeKey, result: string): Action {
  return {
    needsId: true,
    options: [],
    async run({ database, values, id, now, audit }) {
      const key = await changeKey(database, id, (trx, before) => change(trx, before, audit))
      printResult(values.json, serializeKey(key, now), `Key ${id} (${key.name}) ${result}.`)
    },
  }
}

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArguments(args, usage, options, 2)
  const [name = '', idText] = positionals
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (!action) throw new UsageError(`keys needs one of ${Object.keys(actions).join(', ')}.\n\n${usage}`)
  const unexpected = Object.keys(values).find(
    (option) => option !== 'json' && !action.options.includes(option),
  )
  if (unexpected !== undefined)
    throw new UsageError(`keys ${name} does not take --${unexpected}.\n\n${usage}`)
  if (action.needsId !== (idText !== undefined)) {
    const problem = action.needsId ? 'needs the id of a key' : 'takes no id'
    throw new UsageError(`keys ${name} ${problem}.\n\n${usage}`)
  }
  const id = idText === undefined ? 0 : parseKeyId(idText)
  try {
    await withDatabase(env, (database, config) => {
      const now = systemClock()
      return action.run({ database, config, values, id, now, audit: byCommand(`keys ${name}`, now) })
    })
  } catch (error) {
    throw error instanceof ApiError && error.details ? new UsageError(optionProblems(error.details)) : error
  }
}

function parseKeyId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(`"${text}" is not the id of a key. "petstore keys list" shows the ids.`)
}

const changeKey = <T>(database: Database, id: number, change: (trx: Db, before: Key) => Promise<T>) =>
  database.write(async (trx) => {
    const before = await findKeyForUpdate(trx, id)
    if (!before) throw new Error(`There is no key ${id}. "petstore keys list" shows the keys.`)
    return change(trx, before)
  })

/** The options as a request body, so that the schemas of the API validate them. */
function toRequestBody(values: Values) {
  const limit = (option: 'per-minute' | 'per-day' | 'streams', max: number) => {
    const value = parseInteger(option, values[option], 1, max)
    return value === undefined ? undefined : BigInt(value)
  }
  const limits = {
    perMinute: limit('per-minute', customLimitMax),
    perDay: limit('per-day', customLimitMax),
    streams: limit('streams', customStreamsMax),
  }
  return {
    name: values.name,
    plan: values.plan,
    scopes: values.scope,
    origins: values.origin,
    limits: Object.values(limits).some(Boolean) ? limits : undefined,
    expiresAt: values['expires-at'] === 'never' ? null : values['expires-at'],
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
