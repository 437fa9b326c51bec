import { BlockList, isIP } from 'node:net'
import { resolve } from 'node:path'
import { apiKeyProblem } from './auth/apiKey.ts'

export type Environment = 'production' | 'staging'

export type Config = Readonly<{
  host: string
  port: number
  environment: Environment
  dataDir: string
  /** PostgreSQL in place of the embedded store. */
  databaseUrl: string | undefined
  databasePoolMax: number
  isAutoMigrate: boolean
  adminKey: string | undefined
  publicUrl: string | undefined
  productionUrl: string | undefined
  stagingUrl: string | undefined
  trustedProxies: BlockList
  connectionsPerAddressMax: number
  banAfterRefusals: number
  orderHoldMs: number
  webhookAllow: BlockList
  /** `/metrics` needs no key. */
  isMetricsOpen: boolean
  logLevel: string
}>

/** Every problem of the environment at once: an operator should not have to start five times to find five. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`)
    this.problems = problems
  }
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const hourMs = 60 * 60 * 1000
/** Stored as a plain SHA-256, so a short key that a person chose could be guessed from a copy of the store. */
const adminKeyLengthMin = 32
const adminKeyLengthMax = 255

/** The only reader of the environment; everything else is handed the frozen result. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const problems: string[] = []
  const text = (name: string) => env[name]?.trim() || undefined

  const whole = (name: string, fallback: number, min: number, max: number) => {
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

  const hostName = (name: string, fallback: string) => {
    const value = text(name) ?? fallback
    if (isIP(value) === 0 && !/^[A-Za-z0-9_.-]+$/.test(value)) {
      problems.push(`${name} must be an address or the name of a host, but is "${value}".`)
    }
    return value
  }

  const baseUrl = (name: string) => {
    const value = text(name)
    if (value === undefined) return undefined
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username || url.password) {
      // Credentials and queries are where secrets stand, also in an address that cannot be read.
      const shown = /[@?]/.test(value) ? '(hidden)' : value
      problems.push(
        `${name} must be an http or https address without query or credentials, but is "${shown}".`,
      )
      return undefined
    }
    return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
  }

  const postgresUrl = (name: string) => {
    const value = text(name)
    if (value === undefined) return undefined
    const url = URL.canParse(value) ? new URL(value) : undefined
    if (url && /^postgres(?:ql)?:$/.test(url.protocol) && url.pathname.length > 1) return value
    // Never shown: its password may stand anywhere in a value that cannot be read.
    problems.push(`${name} must be an address such as postgres://user:password@host:5432/database.`)
    return undefined
  }

  const networks = (name: string) => {
    const list = new BlockList()
    for (const entry of (text(name) ?? '').split(',').map((part) => part.trim())) {
      if (entry !== '' && !addNetwork(list, entry)) {
        problems.push(`${name} must list addresses or CIDR ranges such as 10.0.0.0/8, but has "${entry}".`)
      }
    }
    return list
  }

  const environment = oneOf('PETSTORE_ENV', ['production', 'staging'] as const, 'production')
  const config: Config = Object.freeze({
    host: hostName('HOST', '127.0.0.1'),
    port: whole('PORT', 8080, 0, 65535),
    environment,
    dataDir: resolve(text('PETSTORE_DATA_DIR') ?? './data'),
    databaseUrl: postgresUrl('DATABASE_URL'),
    databasePoolMax: whole('PETSTORE_DATABASE_POOL', 10, 1, 1_000),
    isAutoMigrate: oneOf('PETSTORE_AUTO_MIGRATE', ['true', 'false'] as const, 'true') === 'true',
    adminKey: adminKey(env.PETSTORE_ADMIN_KEY, environment, problems),
    publicUrl: baseUrl('PETSTORE_PUBLIC_URL'),
    productionUrl: baseUrl('PETSTORE_PRODUCTION_URL'),
    stagingUrl: baseUrl('PETSTORE_STAGING_URL'),
    trustedProxies: networks('PETSTORE_TRUSTED_PROXIES'),
    connectionsPerAddressMax: whole('PETSTORE_CONNECTIONS_PER_ADDRESS', 2_000, 1, 1_000_000),
    banAfterRefusals: whole('PETSTORE_BAN_AFTER_REFUSALS', 100, 1, 1_000_000),
    orderHoldMs: whole('PETSTORE_ORDER_HOLD_HOURS', 72, 1, 8_760) * hourMs,
    webhookAllow: networks('PETSTORE_WEBHOOK_ALLOW'),
    isMetricsOpen: oneOf('PETSTORE_METRICS_OPEN', ['true', 'false'] as const, 'false') === 'true',
    logLevel: oneOf('PETSTORE_LOG_LEVEL', logLevels, 'info'),
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

function adminKey(value: string | undefined, environment: Environment, problems: string[]) {
  if (value === undefined || value === '') return undefined
  const problem =
    !/^[\x21-\x7e]*$/.test(value) || value.length < adminKeyLengthMin || value.length > adminKeyLengthMax
      ? `must be ${adminKeyLengthMin} to ${adminKeyLengthMax} visible ASCII characters without spaces ("openssl rand -hex 24" makes such a key)`
      : apiKeyProblem(value, environment)
  if (problem) problems.push(`PETSTORE_ADMIN_KEY ${problem}.`)
  return value
}

function addNetwork(list: BlockList, entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (prefix === undefined) {
    list.addAddress(address, family)
    return true
  }
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > (version === 4 ? 32 : 128)) return false
  list.addSubnet(address, Number(prefix), family)
  return true
}
