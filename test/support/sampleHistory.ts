import type { Call } from '../../reliability/histories/history.ts'

type Event = { id: number; type: string; createdAt: string; data: Record<string, unknown> }

const luna = { id: 1, name: 'Luna', categoryId: 7, status: 'available' }
const renamed = { ...luna, name: 'Luna 2' }
const held = { ...renamed, status: 'pending' }
const milo = { id: 2, name: 'Milo', categoryId: 7, status: 'available' }
const order = (id: number, status: string) => ({ id, petId: 1, status })
export const noted = (id: number, status: string, note: string) => ({ ...order(id, status), note })

export const animals = { luna, renamed, held, milo }

export const events = (entries: readonly [type: string, data: Record<string, unknown>][]): Event[] =>
  entries.map(([type, data], index) => ({ id: index + 1, type, createdAt: '2026-11-18T00:00:00.000Z', data }))

export const feed = events([
  ['category.created', { id: 7 }],
  ['pet.created', luna],
  ['pet.created', milo],
  ['pet.updated', renamed],
  ['order.placed', order(1, 'placed')],
  ['pet.updated', held],
  ['order.cancelled', order(1, 'cancelled')],
  ['pet.updated', renamed],
  ['order.placed', order(2, 'placed')],
  ['pet.updated', held],
  ['order.approved', order(2, 'approved')],
  ['pet.updated', { ...milo, name: 'Milo 2' }],
  ['pet.deleted', { id: 2 }],
])

const error = (status: number, code: string) => ({ status, body: { code, status, message: '' } })
export const pets = '/v1/pets'
export const orders = '/v1/store/orders'

type Line = [
  number: number,
  caller: string,
  times: [from: number, to: number],
  request: string,
  response: Call['response'] | 'unknown' | 'failed',
  more?: Partial<Call>,
]

export function callOf([number, caller, [startedAt, endedAt], request, response, more]: Line): Call {
  const [method, path = ''] = request.split(' ') as [Call['method'], string]
  const isKnown = typeof response === 'object'
  const outcome = isKnown ? 'known' : (response ?? 'unknown')
  return { number, caller, method, path, startedAt, endedAt, outcome, ...(isKnown && { response }), ...more }
}

const key = { idempotencyKey: 'add-milo', body: { name: 'Milo', categoryId: 7 } }
const lines: Line[] = [
  [
    1,
    'a',
    [0, 10],
    `POST ${pets}`,
    { status: 201, etag: 'e1', body: luna },
    { body: { name: 'Luna', categoryId: 7 } },
  ],
  [2, 'b', [0, 12], `POST ${pets}`, { status: 201, etag: 'm1', body: milo }, key],
  [3, 'b', [20, 25], `POST ${pets}`, { status: 201, etag: 'm1', body: milo, isReplayed: true }, key],
  [4, 'a', [20, 22], `GET ${pets}/1`, { status: 200, etag: 'e1', body: luna }],
  [
    5,
    'a',
    [30, 40],
    `PATCH ${pets}/1`,
    { status: 200, etag: 'e2', body: renamed },
    { ifMatch: 'e1', body: { name: 'Luna 2' } },
  ],
  [
    6,
    'b',
    [31, 41],
    `PATCH ${pets}/1`,
    error(412, 'precondition_failed'),
    { ifMatch: 'e1', body: { name: 'Luna 3' } },
  ],
  [7, 'c', [42, 44], `GET ${pets}/1`, { status: 200, etag: 'e2', body: renamed }],
  [
    8,
    'a',
    [50, 60],
    `POST ${orders}`,
    { status: 201, body: noted(1, 'placed', 'n8') },
    { body: { petId: 1, note: 'n8' } },
  ],
  [9, 'b', [51, 61], `POST ${orders}`, error(409, 'pet_unavailable'), { body: { petId: 1, note: 'n9' } }],
  [10, 'c', [62, 63], `GET ${orders}?petId=1`, { status: 200, body: [noted(1, 'placed', 'n8')] }],
  [
    11,
    'a',
    [70, 80],
    `PATCH ${orders}/1`,
    { status: 200, body: noted(1, 'cancelled', 'n8') },
    { body: { status: 'cancelled' } },
  ],
  [
    12,
    'b',
    [82, 90],
    `POST ${orders}`,
    { status: 201, body: noted(2, 'placed', 'n12') },
    { body: { petId: 1, note: 'n12' } },
  ],
  [
    13,
    'b',
    [91, 92],
    `PATCH ${orders}/2`,
    { status: 200, body: noted(2, 'approved', 'n12') },
    { body: { status: 'approved' } },
  ],
  [14, 'c', [95, 99], `PATCH ${pets}/2`, 'unknown', { body: { name: 'Milo 2' } }],
  [15, 'a', [100, 110], `DELETE ${pets}/2`, { status: 204 }],
  [16, 'reader', [111, 112], 'GET /v1/events?after=0&limit=1000', { status: 200, body: feed }],
  [17, 'c', [113, 114], `GET ${pets}?id=1&id=2`, { status: 200, body: [held] }],
  [18, 'final 1', [200, 201], 'GET /v1/events?after=0&limit=1000', { status: 200, body: feed }],
  [19, 'final 1', [202, 203], `GET ${pets}?limit=100`, { status: 200, body: [held] }],
  [
    20,
    'final 1',
    [204, 205],
    `GET ${orders}?limit=100`,
    { status: 200, body: [noted(2, 'approved', 'n12'), noted(1, 'cancelled', 'n8')] },
  ],
  [
    21,
    'final 1',
    [206, 207],
    'GET /v1/store/inventory',
    { status: 200, body: { available: 0, pending: 1, sold: 0 } },
  ],
]

/** A history without a mistake. */
export const goodHistory: readonly Call[] = lines.map(callOf)
