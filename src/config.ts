import { BlockList, isIP } from 'node:net'
import { resolve } from 'node:path'
import { apiKeyProblem } from './auth/apiKey.ts'
import { editDistance } from './editDistance.ts'

export type Environment = 'production' | 'staging'

export type Config = ReturnType<typeof readConfig>

/** Lists all problems, so that they can be fixed in one go. */
export class ConfigError extends Error {
  readonly exitCode = 2
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`Invalid configuration:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

/** Used by the examples of the guides and by the tests, not by the service. */
const otherNames = /^PETSTORE_(?:KEY|TEST_.*)$/

type Environ = Readonly<Record<string, string | undefined>>

export const defaultPort = 8080
const hostName = /^[A-Za-z0-9_.-]+$/
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const hourMs = 60 * 60 * 1000
/** Stored as an unsalted SHA-256: a short key could be guessed from a copy of the database. */
const adminKeyLengthMin = 32
const adminKeyLengthMax = 255

/** The only place that reads the environment. The error also lists the problems that are already known. */
export function readConfig(env: Environ, knownProblems: readonly string[] = []) {
  const problems = [...knownProblems]
  const read = settingReaders(env, problems)
  const environment = read.oneOf('PETSTORE_ENV', ['production', 'staging'] as const, 'production')
  const config = Object.freeze({
    host: read.host('HOST', '127.0.0.1'),
    port: read.wholeNumber('PORT', defaultPort, 0, 65535),
    environment,
    dataDir: resolve(read.text('PETSTORE_DATA_DIR') ?? './data'),
    /** Selects PostgreSQL instead of SQLite. */
    databaseUrl: read.postgresUrl('DATABASE_URL'),
    /** A streaming replica of the PostgreSQL database. */
    databaseReadUrl: read.postgresUrl('DATABASE_READ_URL'),
    databasePoolMax: read.wholeNumber('PETSTORE_DATABASE_POOL', 10, 1, 1_000),
    isAutoMigrate: read.boolean('PETSTORE_AUTO_MIGRATE', true),
    adminKey: readAdminKey(env.PETSTORE_ADMIN_KEY, environment, problems),
    publicUrl: read.baseUrl('PETSTORE_PUBLIC_URL'),
    productionUrl: read.baseUrl('PETSTORE_PRODUCTION_URL'),
    stagingUrl: read.baseUrl('PETSTORE_STAGING_URL'),
    trustedProxies: read.networks('PETSTORE_TRUSTED_PROXIES'),
    connectionsPerAddressMax: read.wholeNumber('PETSTORE_CONNECTIONS_PER_ADDRESS', 2_000, 1, 1_000_000),
    banAfterRejections: read.wholeNumber('PETSTORE_BAN_AFTER_REFUSALS', 100, 1, 1_000_000),
    orderHoldMs: read.wholeNumber('PETSTORE_ORDER_HOLD_HOURS', 72, 1, 8_760) * hourMs,
    webhookAllow: read.networks('PETSTORE_WEBHOOK_ALLOW'),
    /** `/metrics` requires no API key. */
    isMetricsOpen: read.boolean('PETSTORE_METRICS_OPEN', false),
    logLevel: read.oneOf('PETSTORE_LOG_LEVEL', logLevels, 'info'),
    /** `auto` is text in a terminal and JSON otherwise. */
    logFormat: read.oneOf('PETSTORE_LOG_FORMAT', ['auto', 'json', 'text'] as const, 'auto'),
  })
  if (config.databaseReadUrl !== undefined && read.text('DATABASE_URL') === undefined)
    problems.push('DATABASE_READ_URL names a replica of the database in DATABASE_URL, which is not set.')
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** The settings of a server. Also checks whether HOST is a known name, and reports that with all other problems. */
export async function readServerConfig(env: Environ): Promise<Config> {
  return readConfig(env, [...permissionProblems(env), ...(await hostProblems(env.HOST?.trim() ?? ''))])
}

/** With its permission model, Node syncs no files, so a change in the embedded database would not be durable. */
function permissionProblems({ DATABASE_URL }: Environ): string[] {
  if (process.permission === undefined || DATABASE_URL?.trim()) return []
  return [
    "Node's permission model (--permission) disables syncs of files, which the embedded database needs. Start without --permission, or set DATABASE_URL.",
  ]
}

async function hostProblems(host: string): Promise<string[]> {
  if (!hostName.test(host) || isIP(host) !== 0) return []
  const { lookup } = await import('node:dns/promises')
  return lookup(host).then(
    () => [],
    () => [`HOST must be an IP address or a known host name, but is "${host}".`],
  )
}

/** Functions that each read one setting, and add to `problems` if it is invalid. */
function settingReaders(env: Environ, problems: string[]) {
  const text = (name: string) => env[name]?.trim() || undefined

  const wholeNumber = (name: string, fallback: number, min: number, max: number) => {
    const value = text(name)
    if (value === undefined) return fallback
    if (/^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value)
    problems.push(`${name} must be a whole number from ${min} to ${max}, but is "${value}".`)
    return fallback
  }

  const oneOf = <T extends string>(name: string, allowed: readonly T[], fallback: T): T => {
    const value = text(name)
    if (value === undefined) return fallback
    const known = allowed.find((candidate) => candidate === value)
    if (known === undefined) problems.push(`${name} must be one of ${allowed.join(', ')}, but is "${value}".`)
    return known ?? fallback
  }

  const boolean = (name: string, fallback: boolean) =>
    oneOf(name, ['true', 'false'], String(fallback)) === 'true'

  const host = (name: string, fallback: string) => {
    const value = text(name) ?? fallback
    if (isIP(value) === 0 && !hostName.test(value))
      problems.push(`${name} must be an IP address or a host name, but is "${value}".`)
    return value
  }

  const baseUrl = (name: string) => {
    const value = text(name)
    if (value === undefined) return undefined
    const url = URL.parse(value)
    if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password)
      return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
    // Credentials and queries can hold secrets, also in a URL that cannot be parsed.
    const shown = /[@?]/.test(value) ? '(hidden)' : value
    problems.push(`${name} must be an http or https URL without query or credentials, but is "${shown}".`)
    return undefined
  }

  const postgresUrl = (name: string) => {
    const value = text(name)
    if (value === undefined) return undefined
    const url = URL.parse(value)
    if (url && /^postgres(?:ql)?:$/.test(url.protocol) && url.pathname.length > 1) return value
    // The value is not shown, because it can contain a password.
    problems.push(`${name} must be a URL such as postgres://user:password@host:5432/database.`)
    return undefined
  }

  const networks = (name: string) => {
    const list = new BlockList()
    for (const entry of (text(name) ?? '').split(',').map((part) => part.trim())) {
      if (entry !== '' && !addNetwork(list, entry))
        problems.push(`${name} must list addresses or CIDR ranges such as 10.0.0.0/8, but has "${entry}".`)
    }
    return list
  }

  return { text, wholeNumber, oneOf, boolean, host, baseUrl, postgresUrl, networks }
}

/** A warning for each `PETSTORE_*` variable that is not a setting, with the most similar name. */
export function unknownSettingWarnings(env: Environ): string[] {
  // The names that `readConfig` reads.
  const known = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void known.add(String(name)) }))
  const isUnknown = (name: string) =>
    name.startsWith('PETSTORE_') && !otherNames.test(name) && !known.has(name)
  return Object.keys(env)
    .filter(isUnknown)
    .map((name) => {
      const [closest] = [...known].toSorted((a, b) => editDistance(a, name) - editDistance(b, name))
      return `${name} is not a setting and is ignored. Did you mean ${closest}?`
    })
}

function readAdminKey(value: string | undefined, environment: Environment, problems: string[]) {
  if (value === undefined || value === '') return undefined
  const problem =
    !/^[\x21-\x7e]*$/.test(value) || value.length < adminKeyLengthMin || value.length > adminKeyLengthMax
      ? `must be ${adminKeyLengthMin} to ${adminKeyLengthMax} visible ASCII characters without spaces ("openssl rand -hex 24" generates one)`
      : apiKeyProblem(value, environment)
  if (problem) problems.push(`PETSTORE_ADMIN_KEY ${problem}.`)
  return value
}

function addNetwork(list: BlockList, entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/')
  const version = isIP(address)
  const prefixMax = version === 4 ? 32 : 128
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= prefixMax)
  if (version === 0 || rest.length > 0 || !isPrefix) return false
  list.addSubnet(address, Number(prefix ?? prefixMax), version === 4 ? 'ipv4' : 'ipv6')
  return true
}
