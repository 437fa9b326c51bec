import type { KeyLimits, Plan } from '../limits/plans.ts'

/** The settings of a key and their rules, without HTTP and SQL. */

export const scopes = [
  'pets:read',
  'pets:write',
  'categories:read',
  'categories:write',
  'orders:read',
  'orders:write',
  'events:read',
  'webhooks:manage',
  'metrics:read',
  'keys:manage',
] as const
export type Scope = (typeof scopes)[number]

const secretKeyScopes: readonly Scope[] = scopes.filter((scope) => /^(?:pets|categories|orders):/.test(scope))
/** What a public web page may show. Orders are personal, so their scope has to be set explicitly. */
const publishableKeyScopes: readonly Scope[] = ['pets:read', 'categories:read']

export type KeySettings = {
  name: string
  plan: Plan
  /** Overrides of the plan's limits, for an enterprise key. */
  limits: Partial<KeyLimits> | undefined
  scopes: readonly Scope[]
  /** A key with origins is publishable: it can be embedded in a web page and can only read. */
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

export const defaultScopes = (origins: readonly string[]): readonly Scope[] =>
  origins.length > 0 ? publishableKeyScopes : secretKeyScopes

type SettingsProblem = { field: 'limits' | 'scopes' | 'expiresAt'; message: string }

/** Contradictions in the settings of a key. */
export function validateKeySettings(settings: KeySettings, now: number): SettingsProblem[] {
  const { plan, limits, scopes, origins, expiresAt } = settings
  const problems: SettingsProblem[] = []
  const add = (field: SettingsProblem['field'], message: string) => problems.push({ field, message })
  if (limits && plan !== 'enterprise')
    add('limits', `are fixed by the plan ${plan}; only enterprise has its own`)
  if (origins.length > 0 && scopes.some((scope) => !scope.endsWith(':read')))
    add('scopes', 'of a key with origins (a publishable key) must all end in ":read"')
  if (origins.length > 0 && scopes.includes('metrics:read'))
    add('scopes', 'of a key with origins (a publishable key) must not contain "metrics:read"')
  if (expiresAt !== undefined && expiresAt <= now) add('expiresAt', 'must lie in the future')
  return problems
}
