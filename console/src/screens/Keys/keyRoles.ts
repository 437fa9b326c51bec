import type { Plan, Scope } from '../../../../client/src/index.ts'

/** What a key is usually for, in plain words, with what it needs for that. */

export type RoleName = 'frontDesk' | 'manager' | 'readOnly' | 'website' | 'partner' | 'monitoring'

type KeyRole = {
  readonly label: string
  readonly text: string
  readonly plan: Plan
  /** With `events:read`, the console has live updates. */
  readonly scopes: readonly Scope[]
}

const readScopes: readonly Scope[] = ['pets:read', 'categories:read', 'orders:read', 'events:read']
const frontDeskScopes: readonly Scope[] = [...readScopes, 'pets:write', 'orders:write']

export const keyRoles: Readonly<Record<RoleName, KeyRole>> = {
  frontDesk: {
    label: 'Front desk',
    text: 'For staff: adds, changes and removes animals, and handles orders with the data of adopters. Live updates.',
    plan: 'business',
    scopes: frontDeskScopes,
  },
  manager: {
    label: 'Manager',
    text: 'The front desk, and changes categories and webhooks. Does not import files, change the store, or see keys, usage and the audit log.',
    plan: 'business',
    scopes: [...frontDeskScopes, 'categories:write', 'webhooks:manage'],
  },
  readOnly: {
    label: 'Read only',
    text: 'Sees listed animals, and orders with the data of adopters. Changes nothing. Live updates.',
    plan: 'business',
    scopes: readScopes,
  },
  website: {
    label: 'Web site',
    text: 'Shows animals on your web pages. The key is public: it can only read, and browsers can use it only there.',
    plan: 'pro',
    scopes: ['pets:read', 'categories:read'],
  },
  partner: {
    label: 'Partner feed',
    text: 'For the program of a partner: reads animals and follows changes. Sees no adopters.',
    plan: 'pro',
    scopes: ['pets:read', 'categories:read', 'events:read'],
  },
  monitoring: {
    label: 'Monitoring',
    text: 'For Prometheus: reads the metrics of the service, and nothing else.',
    plan: 'business',
    scopes: ['metrics:read'],
  },
}
