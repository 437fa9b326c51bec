import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keyRoles } from '../../console/src/screens/Keys/keyRoles.ts'
import { useService } from '../support/useService.ts'

const service = useService()

/** A request for each part of the console that only some keys have, and the words for it. */
const parts = [
  { words: /import/, method: 'GET', path: '/imports' },
  { words: /change the store/, method: 'PATCH', path: '/store/profile' },
  { words: /see keys/, method: 'GET', path: '/keys' },
  { words: /usage/, method: 'GET', path: '/usage' },
  { words: /audit log/, method: 'GET', path: '/audit' },
  { words: /changes categories/, method: 'POST', path: '/categories' },
  { words: /webhooks/, method: 'GET', path: '/webhooks' },
]

async function canUse(key: string, { method, path }: (typeof parts)[number]): Promise<boolean> {
  const body = method === 'GET' ? {} : { body: {} }
  const { status } = await service.request(method, `/v1${path}`, { key, ...body })
  return status !== 403
}

describe('the roles of keys in the console', () => {
  test('Manager names what it can do more than the front desk, and what it cannot do', async () => {
    const { manager, frontDesk } = keyRoles
    const [can = '', cannot = ''] = manager.text.split('Does not ')
    const { key } = await service.makeKey({ scopes: manager.scopes })
    const other = await service.makeKey({ scopes: frontDesk.scopes })
    for (const part of parts) {
      const isAllowed = await canUse(key, part)
      assert.match(isAllowed ? can : cannot, part.words, part.path)
      assert.doesNotMatch(isAllowed ? cannot : can, part.words, part.path)
      assert.equal(await canUse(other.key, part), false, part.path)
    }
  })

  test('names the data of adopters if it can see orders, and no role has everything', async () => {
    for (const { text, scopes, label } of Object.values(keyRoles)) {
      const { key } = await service.makeKey({ scopes })
      const { status } = await service.request('GET', '/v1/store/orders', { key })
      if (label !== 'Manager') assert.equal(/data of adopters/.test(text), status === 200, label)
      assert.doesNotMatch(text, /everything/i, label)
    }
  })
})
