import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { databaseFor, removeDatabase } from '../support/engine.ts'
import { runPetstore, startServer } from '../support/process.ts'

describe('a database belongs to one environment permanently', () => {
  for (const [own, other] of [
    ['staging', 'production'],
    ['production', 'staging'],
  ] as const) {
    test(`a ${own} database is rejected in ${other} and stays unchanged`, async (t) => {
      const env = await databaseFor(t)
      const run = (environment: string, args: string[], input = '') =>
        runPetstore(args, { ...env, PETSTORE_ENV: environment, PORT: '0' }, input)
      assert.equal((await run(own, ['keys', 'create', '--name', 'first'])).code, 0)
      const before = await run(own, ['export'])
      const animal = '{"name":"Milo","categoryId":3}'
      for (const args of [['serve'], ['keys', 'create', '--name', 'second'], ['import'], ['export']]) {
        const { code, stdout, stderr } = await run(other, args, animal)
        assert.equal(code, 1, args.join(' '))
        assert.equal(stdout, '')
        assert.equal(
          stderr,
          `This database belongs to the ${own} environment, but PETSTORE_ENV is ${other}. Use a separate database for each environment.\n`,
        )
      }
      assert.deepEqual(await run(own, ['export']), before)
    })
  }
})

describe('the key that PETSTORE_ADMIN_KEY sets', () => {
  const first = 'my-own-operator-key-of-enough-length-1'

  test('makes the start fail with status 2 if it is not usable, and is not printed', async () => {
    const { code, stdout, stderr } = await runPetstore(['serve'], {
      PORT: '0',
      PETSTORE_ADMIN_KEY: 'too-short',
    })
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /PETSTORE_ADMIN_KEY/)
    assert.ok(!stderr.includes('too-short'))
  })

  test('is not printed', async () => {
    const server = await startServer({ PETSTORE_ADMIN_KEY: first })
    try {
      assert.equal((await server.request('GET', '/v1/keys', { key: first })).status, 200)
    } finally {
      server.child.kill('SIGTERM')
    }
    const { code, stdout, stderr } = await server.ended
    await removeDatabase(server.databaseEnv)
    assert.equal(code, 0)
    assert.doesNotMatch(stdout + stderr, /my-own-operator-key|ps_live_/)
  })
})

test('the operator key is shown at the first start only, with a working curl command', async () => {
  const first = await startServer()
  const line = /curl -H "Authorization: (Bearer \S+)" (http:\S+)/.exec(first.output.stdout)
  assert.ok(line, first.output.stdout)
  const response = await fetch(line[2] as string, { headers: { Authorization: line[1] as string } })
  assert.equal(response.status, 200)
  first.closeConnections()
  first.child.kill('SIGTERM')
  const { stderr } = await first.ended
  assert.ok(!stderr.includes(String(first.operatorKey)))

  const second = await startServer(first.databaseEnv)
  try {
    assert.equal(second.operatorKey, undefined)
    assert.equal((await second.request('GET', '/v1/keys', { key: first.operatorKey })).status, 200)
  } finally {
    second.closeConnections()
    second.child.kill('SIGTERM')
    await second.ended
    await removeDatabase(first.databaseEnv)
  }
})
