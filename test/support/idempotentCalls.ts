import { useCheckedCalls } from './checkedCalls.ts'
import type { ClientResponse, RequestOptions } from './client.ts'

export const milo = { name: 'Milo', categoryId: 3 }
export const isReplay = ({ headers }: ClientResponse) => headers['idempotent-replayed'] === 'true'

/** A service for all tests of a file, and what tests of idempotency do with it. */
export function useIdempotency() {
  const { service, call, callersKey } = useCheckedCalls()

  /** Every test has separate keys. */
  let lastKey = 0
  const newKey = () => `retry-${++lastKey}`

  const post = (idempotencyKey: string, options: RequestOptions & { path?: string } = {}) =>
    call('POST', options.path ?? '/v1/pets', {
      body: milo,
      ...options,
      headers: { 'idempotency-key': idempotencyKey, ...options.headers },
    })

  async function petsNamed(name: string): Promise<number> {
    let count = 0
    for (let path = '/v1/pets?limit=100'; path !== ''; ) {
      const { json, headers } = await call('GET', path)
      count += json.filter((pet: { name: string }) => pet.name === name).length
      path = /<([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1] ?? ''
    }
    return count
  }

  return { service, callersKey, call, newKey, post, petsNamed }
}
