import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { root } from '../support/openapi.ts'
import { createTargets, describedOperations, withTargets } from '../support/operationTargets.ts'
import { assertSameNames } from '../support/sameNames.ts'
import { useService } from '../support/useService.ts'

const service = useService()

const send = (method: string, path: string, body?: unknown, headers = {}) =>
  service.request(method, `/v1${path}`, { key: service.operatorKey, body, headers })

async function idOf(path: string, body: unknown): Promise<number> {
  const { status, json, text } = await send('POST', path, body)
  assert.equal(status, 201, text)
  return json.id
}

const addPet = () => idOf('/pets', { name: 'Milo', categoryId: 3 })

describe('a second DELETE gets the response in the guide', () => {
  const guide = readFileSync(`${root}docs/guides/retries.md`, 'utf8')
  /** The rows such as "| `DELETE /pets/{petId}`, ... | 404 ... |". */
  const promised = new Map(
    [...guide.matchAll(/^\| (`DELETE .*) \| (\d{3})\b.* \|$/gm)].flatMap(([, paths = '', status]) =>
      [...paths.matchAll(/`DELETE ([^`]+)`/g)].map(([, path = '']) => [path, Number(status)] as const),
    ),
  )
  const documented = describedOperations.filter(({ method }) => method === 'DELETE').map(({ path }) => path)

  test('which names every one that there is', () => {
    assertSameNames('The rows of docs/guides/retries.md', promised.keys(), documented)
  })

  for (const template of documented) {
    test(template, async () => {
      const path = withTargets(template, await createTargets(service, template))
      assert.equal((await send('DELETE', path)).status, 204)
      assert.equal((await send('DELETE', path)).status, promised.get(template))
    })
  }
})

describe('a second PATCH', () => {
  test('changes nothing more, and gets the same response', async () => {
    const pet = await addPet()
    const order = await idOf('/store/orders', { petId: await addPet() })
    for (const [path, body] of [
      [`/pets/${pet}`, { status: 'pending' }],
      [`/store/orders/${order}`, { status: 'approved' }],
    ] as const) {
      const first = await send('PATCH', path, body)
      assert.equal(first.status, 200)
      const { json: events } = await send('GET', '/events?limit=100')
      const second = await send('PATCH', path, body)
      assert.deepEqual([second.status, second.json], [200, first.json])
      assert.deepEqual((await send('GET', '/events?limit=100')).json, events, 'there was no further event')
    }
  })

  test('with If-Match is a 412, and a second DELETE with it a 404', async () => {
    const path = `/pets/${await addPet()}`
    const tag = async () => ({ 'if-match': String((await send('GET', path)).headers.etag) })
    const seen = await tag()
    assert.equal((await send('PATCH', path, { status: 'pending' }, seen)).status, 200)
    assert.equal((await send('PATCH', path, { status: 'pending' }, seen)).status, 412)
    const changed = await tag()
    assert.equal((await send('DELETE', path, undefined, changed)).status, 204)
    assert.equal((await send('DELETE', path, undefined, changed)).status, 404)
  })
})

test('a key that revokes itself gets 401 the second time', async () => {
  const { id, key } = await service.makeKey({ scopes: ['keys:manage'] })
  const statuses = []
  for (let n = 0; n < 2; n++)
    statuses.push((await service.request('DELETE', `/v1/keys/${id}`, { key })).status)
  assert.deepEqual(statuses, [204, 401])
})
