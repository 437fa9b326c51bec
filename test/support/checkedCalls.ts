import { before } from 'node:test'
import type { ClientResponse, RequestOptions } from './client.ts'
import { amplePlan, assertResponseHeaders } from './responses.ts'
import type { TestServiceOptions } from './service.ts'
import { useService } from './useService.ts'

/** A service for all tests of a file, and requests to it with a key that has an ample rate limit. */
export function useCheckedCalls(options?: TestServiceOptions) {
  const service = useService({}, options)
  let key: string
  before(async () => {
    key = (await service.makeKey(amplePlan)).key
  })

  /** Sends a request and checks the headers and the error body that every response must have. */
  async function call(method: string, path: string, options: RequestOptions = {}): Promise<ClientResponse> {
    const response = await service.request(method, path, { key, ...options })
    assertResponseHeaders(response, method)
    return response
  }

  return { service, call, callersKey: () => key }
}
