import assert from 'node:assert/strict'
import { eventually } from './eventually.ts'
import { jpeg } from './images.ts'
import { type TestService, type TestServiceOptions, withIndexing } from './service.ts'
import { useService } from './useService.ts'

export const publicUrl = 'https://pets.example'

/** A text that is a script wherever it is not shown as text, with quotation marks of both kinds. */
export const markup = `<script>alert("1")</script>'"><img src=x onerror=alert(1)>`

type NewAnimal = { name?: string; status?: string; profile?: object; photos?: readonly Buffer[] }
type Visit = { headers?: Record<string, string>; address?: string; method?: string }

/** A service whose adoption page is on, and visits to it without a key. */
export function useAdoption(env: Record<string, string> = {}, options: TestServiceOptions = {}) {
  const service: TestService = useService(
    { PETSTORE_TRUSTED_PROXIES: '127.0.0.1', PETSTORE_PUBLIC_URL: publicUrl, ...env },
    { bounds: withIndexing, ...options },
  )

  async function call(method: string, path: string, body?: unknown, headers = {}) {
    const options = { key: service.operatorKey, headers, ...(body !== undefined && { body }) }
    const response = await service.request(method, `/v1${path}`, options)
    assert.ok(response.status < 300, response.text)
    return response.json
  }

  const setStore = (profile: object) => call('PATCH', '/store/profile', profile)

  async function addPhoto(id: number, bytes: Buffer) {
    return call('POST', `/pets/${id}/photos`, bytes, { 'content-type': 'image/jpeg' })
  }

  async function add({ name = 'Luna', status = 'available', profile, photos = [] }: NewAnimal = {}) {
    const { id } = await call('POST', '/pets', { name, categoryId: 3, status })
    if (profile) await call('PATCH', `/pets/${id}/profile`, profile)
    for (const photo of photos) await addPhoto(id, photo)
    return id as number
  }

  let addresses = 0
  /** From an address that has sent nothing so far, unless one is given. */
  function visit(path: string, { headers = {}, address, method = 'GET' }: Visit = {}) {
    addresses++
    const from = address ?? `10.${addresses >> 16}.${(addresses >> 8) & 255}.${addresses & 255}`
    return service.request(method, path, { headers: { ...headers, 'x-forwarded-for': from } })
  }

  /** The index is a moment behind. */
  const finds = (path: string, ids: readonly number[]) =>
    eventually(`${path} finds ${ids}`, async () => {
      const { status, text } = await visit(path)
      return status === 200 && String(shownIds(text)) === String(ids)
    })

  return { service, call, setStore, add, addPhoto, visit, finds }
}

/** The animals that a list links to, in order. */
export const shownIds = (text: string): number[] =>
  [...text.matchAll(/<h3><a href="\/adopt\/(\d+)"/g)].map(([, id]) => Number(id))

export const smallPhoto = () => jpeg(64, 48)
