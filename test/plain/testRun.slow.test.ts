import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/engine.ts'

const tests = fileURLToPath(new URL('../', import.meta.url))
const support = JSON.stringify(join(tests, 'support', 'browser.ts'))
const passing = `test('passes', () => {})`
const inBrowser = `browserTest('in a browser', async () => {})`
const skipped = `test('skipped', { skip: 'It takes long.' }, () => {})`

/** Runs test/run.ts on a new folder with one file that has these tests. */
function runTests(t: TestContext, lines: string[], env: Record<string, string>) {
  const folder = temporaryFolder()
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'test', 'plain'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const name of ['run.ts', 'bunUnsupported.ts']) cpSync(join(tests, name), join(folder, 'test', name))
  symlinkSync(join(tests, 'support'), join(folder, 'test', 'support'))
  const imports = [`import { test } from 'node:test'`, `import { browserTest } from ${support}`]
  writeFileSync(join(folder, 'test', 'plain', 'one.test.ts'), [...imports, ...lines].join('\n'))
  // As an own run: not as a part of the one that this test belongs to.
  const { NODE_TEST_CONTEXT: _, PETSTORE_TEST_REQUIRE_BROWSER: __, ...inherited } = process.env
  return new Promise<{ status: number | string | null | undefined; output: string }>((resolve) => {
    execFile(
      process.execPath,
      [join(folder, 'test', 'run.ts'), '--engine', 'sqlite'],
      { cwd: folder, env: { ...inherited, ...env } },
      (error, stdout, stderr) => resolve({ status: error ? error.code : 0, output: stdout + stderr }),
    )
  })
}

describe('a run of the tests', () => {
  const withoutBrowser = { PETSTORE_TEST_BROWSER: 'none' }

  test('passes without a browser, and says how to install one', async (t) => {
    for (const lines of [[inBrowser], [passing, inBrowser]]) {
      const { status, output } = await runTests(t, lines, withoutBrowser)
      assert.equal(status, 0, output)
      assert.match(output, /1 browser tests were skipped\..*apt-get install chromium/)
    }
  })

  test('fails without a browser where PETSTORE_TEST_REQUIRE_BROWSER is set', async (t) => {
    const env = { ...withoutBrowser, PETSTORE_TEST_REQUIRE_BROWSER: 'true' }
    const { status, output } = await runTests(t, [passing, inBrowser], env)
    assert.equal(status, 1, output)
    assert.match(output, /PETSTORE_TEST_REQUIRE_BROWSER is set/)
  })

  test('fails on any other skipped test', async (t) => {
    for (const lines of [
      [passing, skipped],
      [passing, inBrowser, skipped],
    ]) {
      const { status, output } = await runTests(t, lines, withoutBrowser)
      assert.equal(status, 1, output)
    }
  })

  test('fails on a test that is skipped for want of a browser although there is one', async (t) => {
    const env = { PETSTORE_TEST_BROWSER: process.execPath }
    const lines = [passing, `test('skipped', { skip: 'No browser was found on this machine.' }, () => {})`]
    const { status, output } = await runTests(t, lines, env)
    assert.equal(status, 1, output)
  })

  test('fails where PETSTORE_TEST_BROWSER names no program', async (t) => {
    const { status, output } = await runTests(t, [passing], { PETSTORE_TEST_BROWSER: '/nonexistent/browser' })
    assert.equal(status, 1, output)
    assert.match(output, /PETSTORE_TEST_BROWSER is not a program/)
  })
})
