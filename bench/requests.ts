import type { Request } from './load.ts'
import { animals } from './stores.ts'

/** What the loads ask for, with this key. */
export function requestsWith(key: string): Record<'list' | 'read' | 'create', Request> {
  const headers = { Authorization: `Bearer ${key}` }
  return {
    list: { method: 'GET', path: '/v1/pets?status=available', headers, status: 200 },
    read: { method: 'GET', path: '/v1/pets/{id}', headers, ids: animals, status: 200 },
    create: {
      method: 'POST',
      path: '/v1/pets',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: '{"name":"Milo","categoryId":3}',
      status: 201,
    },
  }
}
