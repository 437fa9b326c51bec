import { type KeyLimits, type Plan, planLimits } from './plans.ts'

/** A key and its rules. Nothing here knows of HTTP or SQL. */

export const scopes = [
  'pets:read',
  'pets:write',
  'categories:read',
  'categories:write',
  'orders:read',
  'orders:write',
  'events:read',
  'webhooks:manage',
  'keys:manage',
] as const
export type Scope = (typeof scopes)[number]

const secretKeyScopes: readonly Scope[] = scopes.filter((scope) => /^(?:pets|categories|orders):/.test(scope))
/** What a browser may show to everybody; orders are personal and must be asked for. */
const publishableKeyScopes: readonly Scope[] = ['pets:read', 'categories:read']

export type KeySettings = {
  name: string
  plan: Plan
  /** An enterprise key's own limits. */
  limits: Partial<KeyLimits> | undefined
  scopes: readonly Scope[]
  /** With any, the key is publishable: it may stand in a web page, and only reads. */
  origins: readonly string[]
  expiresAt: number | undefined
}

export type Key = KeySettings & {
  id: number
  createdAt: number
  lastUsedAt: number | undefined
  revokedAt: number | undefined
  bannedUntil: number | undefined
}

export const nameLengthMax = 100
export const originsMax = 20
/** Scheme, a host name of at most 253 characters, and a port. */
export const originLengthMax = 'https://'.length + 253 + ':65535'.length
export const overlapSecondsMax = 30 * 24 * 60 * 60

export const isKeyName = (text: string): boolean => text.trim() !== '' && [...text].length <= nameLengthMax

/** An origin as browsers send it: scheme, host and port, nothing behind. */
export const isOrigin = (text: string): boolean =>
  text.length <= originLengthMax &&
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).origin === text

/** A key with origins is publishable, and may be used from these alone. */
export const isPublishable = ({ origins }: Pick<KeySettings, 'origins'>): boolean => origins.length > 0

export const isUsableFrom = (key: Pick<KeySettings, 'origins'>, origin: string | undefined): boolean =>
  !isPublishable(key) || (origin !== undefined && key.origins.includes(origin))

export const defaultScopes = (origins: readonly string[]): readonly Scope[] =>
  origins.length > 0 ? publishableKeyScopes : secretKeyScopes

type SettingsProblem = { field: 'limits' | 'scopes' | 'expiresAt'; message: string }

/** What contradicts itself in a key's settings. */
export function settingsProblems(settings: KeySettings, now: number): SettingsProblem[] {
  const problems: SettingsProblem[] = []
  if (settings.limits && settings.plan !== 'enterprise') {
    problems.push({
      field: 'limits',
      message: `are fixed by the plan ${settings.plan}; only enterprise has its own`,
    })
  }
  if (settings.origins.length > 0 && settings.scopes.some((scope) => !scope.endsWith(':read'))) {
    problems.push({
      field: 'scopes',
      message: 'of a key with origins (a publishable key) must all end in ":read"',
    })
  }
  if (settings.expiresAt !== undefined && settings.expiresAt <= now) {
    problems.push({ field: 'expiresAt', message: 'must lie in the future' })
  }
  return problems
}

export const effectiveLimits = ({ plan, limits }: Pick<KeySettings, 'plan' | 'limits'>): KeyLimits => ({
  ...planLimits[plan],
  ...(plan === 'enterprise' ? limits : undefined),
})
