import assert from 'node:assert/strict'
import sharp from 'sharp'
import type { useCheckedCalls } from './checkedCalls.ts'
import { jpeg } from './images.ts'

/** The photos of a service. */
export function photoCalls({ service, call }: ReturnType<typeof useCheckedCalls>) {
  const addPet = async (): Promise<number> =>
    (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3 } })).json.id
  const upload = (id: number, body: Uint8Array, type = 'image/jpeg', headers = {}) =>
    call('POST', `/v1/pets/${id}/photos`, { body, headers: { 'content-type': type, ...headers } })
  async function added(id: number, body?: Uint8Array) {
    const response = await upload(id, body ?? (await jpeg()))
    assert.equal(response.status, 201, response.text)
    return response.json
  }
  const list = async (id: number) => (await call('GET', `/v1/pets/${id}/photos`)).json
  const fetchFile = (path: string, init: RequestInit = {}) => fetch(new URL(path, service.base), init)
  async function imageAt(path: string) {
    const response = await fetchFile(path)
    assert.equal(response.status, 200)
    const bytes = Buffer.from(await response.arrayBuffer())
    return { bytes, metadata: await sharp(bytes).metadata() }
  }

  return { addPet, upload, added, list, fetchFile, imageAt }
}
