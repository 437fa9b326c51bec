import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cliOnNewDatabase, lines } from '../support/commands.ts'

test('concurrent commands on a database that does not exist yet all succeed', async (t) => {
  const expected = { code: 0, stdout: '{"added":1}\n' }
  for (let round = 0; round < 12; round++) {
    const cli = await cliOnNewDatabase(t, {}, { isBare: true })
    const results = await Promise.all(
      Array.from({ length: 6 }, () => cli.run(['seed', '--count', '1', '--json'])),
    )
    for (const { code, stdout, stderr } of results) assert.deepEqual({ code, stdout }, expected, stderr)
    assert.equal(lines(await cli.export()).filter((line) => line.includes('"type":"pet"')).length, 6)
  }
})
