import { petCount } from '../data/databases.ts'
import type { RequestSpec } from '../load/load.ts'

export const operations = ['list', 'read', 'create'] as const
export type Operation = (typeof operations)[number]

export function requestsWith(key: string): Record<Operation, RequestSpec> {
  const headers = { Authorization: `Bearer ${key}` }
  return {
    list: { method: 'GET', path: '/v1/pets?status=available', headers, status: 200 },
    read: { method: 'GET', path: '/v1/pets/{id}', headers, ids: petCount, status: 200 },
    create: {
      method: 'POST',
      path: '/v1/pets',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: '{"name":"Milo","categoryId":3}',
      status: 201,
    },
  }
}

/** Changes a pet, another one and to another name each time. */
export const changeRequest = (key: string, ids: number): RequestSpec => ({
  method: 'PATCH',
  path: '/v1/pets/{id}',
  headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  body: '{"name":"Milo {sequence}"}',
  ids,
  status: 200,
})
