import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { databaseFor, engine } from '../support/engine.ts'
import { runInProcess } from '../support/process.ts'
import { folderFor } from '../support/servers.ts'

describe('every command ends its process by itself, with all of its output written', () => {
  test('status 0', async (t) => {
    const env = await databaseFor(t)
    const run = async (args: string[], input = '') => {
      const { code, signal, stdout, stderr } = await runInProcess(args, env, input)
      assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' }, args.join(' '))
      return stdout
    }
    assert.match(await run(['migrate']), /up to date/)
    assert.equal(await run(['seed', '--count', '2000']), 'Added 2000 animals.\n')
    assert.match(await run(['keys', 'create', '--name', 'one']), /ps_live_/)
    assert.match(await run(['keys', 'list']), /one/)
    const exported = await run(['export', '--without-keys'])
    assert.ok(exported.length > 65_536, 'more than a pipe holds')
    assert.equal(exported.trimEnd().split('\n').length, 1 + 6 + 2000)
    assert.match(await run(['import'], exported), /^Imported 2000 animals/)
    assert.match(await run(['openapi', '--yaml']), /^openapi: /)
    assert.match(await run(['export', '--format', 'csv']), /^id,externalId,name,/)
    assert.match(await run(['completion', 'bash']), /^_petstore/)
    assert.match(await run(['--help']), /^Usage: petstore /)
    if (engine === 'postgres') return
    const file = join(folderFor(t), 'backup')
    assert.match(await run(['backup', file]), /^Backed up/)
    assert.match(await run(['restore', file, '--replace']), /^Restored/)
  })

  test('status 1 and 2', async (t) => {
    const env = await databaseFor(t)
    const failed = await runInProcess(['keys', 'revoke', '99'], env)
    assert.deepEqual([failed.code, failed.signal, failed.stdout], [1, null, ''])
    const withUsageError = await runInProcess(['keys', 'borrow'], env)
    assert.deepEqual([withUsageError.code, withUsageError.signal, withUsageError.stdout], [2, null, ''])
    const misconfigured = await runInProcess(['export'], { ...env, PETSTORE_ENV: 'none' })
    assert.deepEqual([misconfigured.code, misconfigured.signal, misconfigured.stdout], [2, null, ''])
  })
})
