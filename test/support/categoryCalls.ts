import assert from 'node:assert/strict'
import { before } from 'node:test'
import type { ClientResponse, RequestOptions } from './client.ts'
import { amplePlan, assertResponseHeaders } from './responses.ts'
import { startTestService, type TestService } from './service.ts'
import { useService } from './useService.ts'

export const idsOf = (page: ClientResponse): number[] => page.json.map(({ id }: { id: number }) => id)

/** A service for all tests of a file, and what tests of categories do with it. */
export function useCategories() {
  const service = useService()
  let key: string
  before(async () => {
    key = (await service.makeKey(amplePlan)).key
  })

  /** Sends a request and checks the common form of the response. Operations on categories are marked as beta. */
  async function call(method: string, path: string, options: RequestOptions = {}, at = service) {
    const response = await at.request(method, path, { key, ...options })
    assertResponseHeaders(response, method)
    if (path.startsWith('/v1/categories')) assert.equal(response.headers['x-stability'], 'beta', path)
    return response
  }

  /** Starts a separate service, for tests that depend on ids or list everything. */
  async function withOwn(work: (own: TestService, ownCall: typeof call) => Promise<void>): Promise<void> {
    const own = await startTestService()
    const ownKey = own.operatorKey
    try {
      await work(own, (method, path, options = {}) => call(method, path, { key: ownKey, ...options }, own))
    } finally {
      await own.stop()
    }
  }

  async function addNamed(name: string, send = call): Promise<ClientResponse['json']> {
    const added = await send('POST', '/v1/categories', { body: { name } })
    assert.equal(added.status, 201, added.text)
    return added.json
  }

  async function addPetOf(categoryId: string | number, send = call): Promise<ClientResponse['json']> {
    const body = `{"name":"Milo","categoryId":${categoryId}}`
    const added = await send('POST', '/v1/pets', { body })
    assert.equal(added.status, 201, added.text)
    return added.json
  }

  return { service, call, withOwn, addNamed, addPetOf }
}
