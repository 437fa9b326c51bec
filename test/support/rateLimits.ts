import { after, before, beforeEach } from 'node:test'
import type { ClientResponse } from './client.ts'
import { startTestService, type TestService } from './service.ts'

/**
 * A service for all tests of a file that takes the client address from X-Forwarded-For, and a separate client address
 * for each test.
 */
export function proxiedService() {
  let service: TestService
  let address = ''
  let addresses = 0
  before(async () => {
    service = await startTestService({ PETSTORE_TRUSTED_PROXIES: '127.0.0.1' })
  })
  after(() => service.stop())
  beforeEach(() => {
    address = `198.51.100.${++addresses}`
  })
  return {
    get service() {
      return service
    },
    get address() {
      return address
    },
  }
}

/** Uses a key until it is banned. */
export async function banKey(service: TestService, key: string): Promise<void> {
  for (let n = 0; n < 200; n++)
    if ((await service.request('GET', '/v1/pets', { key })).json.code === 'key_banned') return
  throw new Error('The key was not banned.')
}

/** The value of `X-RateLimit-Limit`, `-Remaining` or `-Reset`. */
export const rateLimit = ({ headers }: ClientResponse, name: 'limit' | 'remaining' | 'reset'): number =>
  Number(headers[`x-ratelimit-${name}`])

/** Runs the work this many times concurrently. */
export const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work))
