import assert from 'node:assert/strict'
import type { ClientResponse } from './client.ts'
import { eventually } from './eventually.ts'

type Send = (
  method: string,
  path: string,
  options?: { body?: unknown; headers?: Record<string, string> },
) => Promise<ClientResponse>

/** The imports of a service, by requests that may use them. */
export function importCalls(send: Send) {
  const upload = (csv: string | Uint8Array, query = '', headers = {}) =>
    send('POST', `/v1/imports${query}`, { body: csv, headers: { 'content-type': 'text/csv', ...headers } })

  const succeeded = ({ status, json, text }: ClientResponse, expected: number) => {
    assert.equal(status, expected, text)
    return json
  }
  const checked = async (csv: string, query = '') => succeeded(await upload(csv, query), 201)
  const get = (id: string) => send('GET', `/v1/imports/${id}`)
  const apply = (id: string) => send('POST', `/v1/imports/${id}/apply`)
  const remove = (id: string) => send('DELETE', `/v1/imports/${id}`)

  /** Waits until an import has ended, and returns it. */
  const applied = (id: string) =>
    eventually('the import is applied', async () => {
      const { json } = await get(id)
      return json?.state === 'applied' && json
    })

  /** Uploads and applies a file, and returns the import after that. */
  async function importAll(csv: string, query = '') {
    const { id } = await checked(csv, query)
    succeeded(await apply(id), 202)
    return applied(id)
  }

  return { upload, checked, get, apply, remove, applied, importAll }
}
