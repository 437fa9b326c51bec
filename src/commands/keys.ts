import type { Kysely } from 'kysely'
import { ApiError, type Detail } from '../api/errors.ts'
import { validate } from '../api/validation.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { type Key, overlapSecondsMax } from '../keys/key.ts'
import { changeKey, createKey, findKey, listKeys, revokeKey, rotateKey, unbanKey } from '../keys/queries.ts'
import { changedSettings, checkSettings, keyChange, newKey, newSettings } from '../keys/schemas.ts'
import { serializeKey } from '../keys/serialize.ts'
import { ownLimitMax, ownStreamsMax } from '../limits/plans.ts'
import { readArguments, UsageError, wholeNumber } from './arguments.ts'
import { report, withStore } from './store.ts'

const usage = `petstore keys create --name NAME [settings] [--json]
petstore keys list [--json]
petstore keys update ID [--name NAME] [settings] [--json]
petstore keys revoke ID [--json]
petstore keys rotate ID [--overlap-seconds N] [--json]
petstore keys unban ID [--json]

Settings:
  --plan PLAN          free, pro, business or enterprise (free)
  --per-minute N       an enterprise key's own limits
  --per-day N
  --streams N
  --scope SCOPE        may be given several times
  --origin ORIGIN      may be given several times; makes a publishable key, which only reads
  --expires-at TIME    such as 2027-01-31T12:00:00Z or 2027-01-31T13:00:00+01:00; "never" with update takes it away

These work on a store that a server has open; the server follows within 2 seconds.`

const options = {
  name: { type: 'string' },
  plan: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  streams: { type: 'string' },
  scope: { type: 'string', multiple: true },
  origin: { type: 'string', multiple: true },
  'expires-at': { type: 'string' },
  'overlap-seconds': { type: 'string' },
  json: { type: 'boolean' },
} as const

type Values = ReturnType<typeof readArguments<typeof options>>['values']
type Action = (store: Database, config: Config, values: Values, id: number) => Promise<void>

const pageKeys = 100
const settingOptions = [
  'name',
  'plan',
  'per-minute',
  'per-day',
  'streams',
  'scope',
  'origin',
  'expires-at',
  'json',
] as const

const actions: Record<string, { needsId: boolean; takes: readonly string[]; run: Action }> = {
  create: {
    needsId: false,
    takes: settingOptions,
    async run(database, { environment }, values) {
      const settings = newSettings(validate(newKey, settingsOf(values), 'body'))
      const now = systemClock()
      checkSettings(settings, now)
      const { key, secret } = await database.write((trx) => createKey(trx, settings, environment, now))
      report(values.json, { ...serializeKey(key, now), key: secret }, madeText(key, secret))
    },
  },
  list: {
    needsId: false,
    takes: ['json'],
    async run(database, _config, { json }) {
      const now = systemClock()
      let belowId: number | undefined
      for (;;) {
        const page = await listKeys(database.read, pageKeys, belowId)
        for (const key of page) report(json, serializeKey(key, now), listLine(key, now))
        if (page.length < pageKeys) return
        belowId = page.at(-1)?.id
      }
    },
  },
  update: {
    needsId: true,
    takes: settingOptions,
    async run(database, _config, values, id) {
      const given = settingsOf(values)
      if (Object.keys(given).length === 0)
        throw new UsageError(`keys update needs something to change.\n\n${usage}`)
      const body = validate(keyChange, given, 'body')
      const now = systemClock()
      const key = await change(database, id, async (trx, before) => {
        const settings = changedSettings(before, body)
        checkSettings(settings, body.expiresAt === undefined ? 0 : now)
        await changeKey(trx, id, settings, now)
      })
      report(values.json, serializeKey(key, now), `Key ${id} is changed:\n${listLine(key, now)}`)
    },
  },
  revoke: {
    needsId: true,
    takes: ['json'],
    async run(database, _config, { json }, id) {
      const now = systemClock()
      const key = await change(database, id, (trx) => revokeKey(trx, id, now))
      report(json, serializeKey(key, now), `Key ${id} (${key.name}) is revoked.`)
    },
  },
  rotate: {
    needsId: true,
    takes: ['overlap-seconds', 'json'],
    async run(database, { environment }, values, id) {
      const overlapSeconds =
        wholeNumber('overlap-seconds', values['overlap-seconds'], 0, overlapSecondsMax) ?? 0
      const now = systemClock()
      let secret = ''
      const key = await change(database, id, async (trx, { revokedAt }) => {
        if (revokedAt !== undefined)
          throw new Error(`Key ${id} is revoked, and that is for good: make a new one.`)
        secret = await rotateKey(trx, id, environment, overlapSeconds * 1000, now)
      })
      report(values.json, { ...serializeKey(key, now), key: secret }, madeText(key, secret))
    },
  },
  unban: {
    needsId: true,
    takes: ['json'],
    async run(database, _config, { json }, id) {
      const now = systemClock()
      const key = await change(database, id, (trx) => unbanKey(trx, id, now))
      report(
        json,
        serializeKey(key, now),
        `Key ${id} (${key.name}) may be used again: any ban on it is lifted.`,
      )
    },
  },
}

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = readArguments(args, usage, options, ['action', 'id'])
  const [name = '', idText] = positionals
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (!action) throw new UsageError(`keys needs one of ${Object.keys(actions).join(', ')}.\n\n${usage}`)
  const stray = Object.keys(values).find((option) => !action.takes.includes(option))
  if (stray !== undefined) throw new UsageError(`keys ${name} does not take --${stray}.\n\n${usage}`)
  if (action.needsId !== (idText !== undefined)) {
    throw new UsageError(
      `keys ${name} ${action.needsId ? 'needs the id of a key' : 'takes no id'}.\n\n${usage}`,
    )
  }
  const id = idText === undefined ? 0 : keyId(idText)
  try {
    await withStore(env, (database, config) => action.run(database, config, values, id))
  } catch (error) {
    throw error instanceof ApiError && error.details ? new UsageError(optionProblems(error.details)) : error
  }
}

async function change(
  database: Database,
  id: number,
  apply: (trx: Kysely<Tables>, before: Key) => Promise<void>,
): Promise<Key> {
  return database.write(async (trx) => {
    const before = await findKey(trx, id)
    if (!before) throw new Error(`There is no key ${id}: "keys list" shows those that exist.`)
    await apply(trx, before)
    return (await findKey(trx, id)) as Key
  })
}

function keyId(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new UsageError(
    `The id of a key is a whole number above 0, as "keys list" shows it: "${text}" is none.`,
  )
}

/** The fields of a request by the names that the options have. */
const optionProblems = (details: readonly Detail[]): string =>
  details
    .map(({ path, message }) => {
      const field = path.split('/').findLast((part) => part !== '' && !/^\d+$/.test(part)) ?? ''
      if (field === 'limits') return `--per-minute, --per-day and --streams ${message}.`
      const option = `--${field.replace(/s$/, '').replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
      // A list as a whole is all the options of its name together.
      return path.endsWith('s')
        ? `The ${option} options ${message.replace(/^must have (at most \d+) entries$/, 'must be $1')}.`
        : `${option} ${message}.`
    })
    .join('\n')

/** Options as the body of a request has them, so that one schema checks both. */
function settingsOf(values: Values): Record<string, unknown> {
  const perMinute = wholeNumber('per-minute', values['per-minute'], 1, ownLimitMax)
  const perDay = wholeNumber('per-day', values['per-day'], 1, ownLimitMax)
  const streams = wholeNumber('streams', values.streams, 1, ownStreamsMax)
  const limits = {
    ...(perMinute !== undefined && { perMinute: BigInt(perMinute) }),
    ...(perDay !== undefined && { perDay: BigInt(perDay) }),
    ...(streams !== undefined && { streams: BigInt(streams) }),
  }
  const expiresAt = values['expires-at']
  return {
    ...(values.name !== undefined && { name: values.name }),
    ...(values.plan !== undefined && { plan: values.plan }),
    ...(values.scope !== undefined && { scopes: values.scope }),
    ...(values.origin !== undefined && { origins: values.origin }),
    ...(Object.keys(limits).length > 0 && { limits }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === 'never' ? null : expiresAt }),
  }
}

const madeText = (key: Key, secret: string) =>
  `Key ${key.id} (${key.name}, ${key.plan}). Its secret is shown this once and kept nowhere:\n\n  ${secret}`

function listLine(key: Key, now: number): string {
  const { bannedUntil, lastUsedAt } = serializeKey(key, now)
  const state = key.revokedAt
    ? 'revoked'
    : key.expiresAt !== undefined && key.expiresAt <= now
      ? 'expired'
      : bannedUntil !== undefined
        ? `banned until ${bannedUntil}`
        : 'active'
  return [
    String(key.id).padStart(5),
    key.plan.padEnd(10),
    state.padEnd(8),
    `last used ${lastUsedAt ?? 'never'}`,
    key.name,
  ].join('  ')
}
