import type { ComponentType } from 'preact'
import type { Scope } from '../../../client/src/index.ts'
import type { IconName } from '../components/Icon.tsx'

/** A screen. Its code is loaded when it is first shown. */
export type Screen = {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  /** The key needs one of these scopes to see the screen. Without any, every key sees it. */
  readonly scopes: readonly Scope[]
  /** The path of one thing is the path of the screen and its id. */
  readonly hasDetails?: boolean
  /** The path of the screen that leads to it. It is not in the main navigation. */
  readonly parent?: string
  readonly load: () => Promise<{ default: ComponentType }>
}

/** In the order of the main navigation. */
export const screens: readonly Screen[] = [
  {
    path: 'overview',
    name: 'Overview',
    icon: 'overview',
    scopes: ['pets:read', 'events:read', 'keys:manage'],
    load: () => import('../screens/Overview/Overview.tsx'),
  },
  {
    path: 'animals',
    name: 'Animals',
    icon: 'paw',
    scopes: ['pets:read'],
    hasDetails: true,
    load: () => import('../screens/Animals/Animals.tsx'),
  },
  {
    path: 'import',
    name: 'Import animals',
    icon: 'paw',
    scopes: ['keys:manage'],
    parent: 'animals',
    load: () => import('../screens/Import/Import.tsx'),
  },
  {
    path: 'categories',
    name: 'Categories',
    icon: 'category',
    scopes: ['categories:read'],
    load: () => import('../screens/Categories/Categories.tsx'),
  },
  {
    path: 'orders',
    name: 'Orders',
    icon: 'orders',
    scopes: ['orders:read'],
    load: () => import('../screens/Orders/Orders.tsx'),
  },
  {
    path: 'store',
    name: 'Store',
    icon: 'store',
    scopes: ['pets:read'],
    load: () => import('../screens/Store/Store.tsx'),
  },
  {
    path: 'webhooks',
    name: 'Webhooks',
    icon: 'webhook',
    scopes: ['webhooks:manage'],
    hasDetails: true,
    load: () => import('../screens/Webhooks/Webhooks.tsx'),
  },
  {
    path: 'keys',
    name: 'Keys',
    icon: 'key',
    scopes: ['keys:manage'],
    hasDetails: true,
    load: () => import('../screens/Keys/Keys.tsx'),
  },
  {
    path: 'audit',
    name: 'Audit log',
    icon: 'audit',
    scopes: ['keys:manage'],
    load: () => import('../screens/Audit/Audit.tsx'),
  },
  {
    path: 'limits',
    name: 'Limits',
    icon: 'limits',
    scopes: [],
    load: () => import('../screens/Limits/Limits.tsx'),
  },
]
