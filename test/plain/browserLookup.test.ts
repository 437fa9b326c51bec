import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { temporaryFolder } from '../support/engine.ts'
import { findBrowser } from '../support/findBrowser.ts'

const folder = temporaryFolder()
after(() => rmSync(folder, { recursive: true, force: true }))

function folderWith(name: string, mode = 0o755): string {
  const path = join(folder, `${name}-${mode}`)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, name), '#!/bin/sh\n')
  chmodSync(join(path, name), mode)
  return path
}
const chromium = folderWith('chromium')
const chrome = folderWith('google-chrome')
const own = join(folderWith('my-browser'), 'my-browser')
const empty = join(folder, 'empty')
mkdirSync(empty)
/** A search path without a browser comes first, so that the search has to go on. */
const pathOf = (...folders: string[]) => [empty, ...folders].join(':')

describe('the browser of the tests', () => {
  for (const arch of ['x64', 'arm64']) {
    const machine = (env: NodeJS.ProcessEnv) => ({ env, platform: 'linux', arch })
    test(`on linux-${arch}, the one that PETSTORE_TEST_BROWSER names comes first`, () => {
      const env = { PETSTORE_TEST_BROWSER: own, PATH: pathOf(chromium) }
      assert.deepEqual(findBrowser(machine(env)), { kind: 'installed', path: own })
    })
    test(`on linux-${arch}, an installed one comes next`, () => {
      const expected = { kind: 'installed', path: join(chromium, 'chromium') }
      assert.deepEqual(findBrowser(machine({ PATH: pathOf(chrome, chromium) })), expected)
      const other = { kind: 'installed', path: join(chrome, 'google-chrome') }
      assert.deepEqual(findBrowser(machine({ PATH: pathOf(chrome) })), other)
    })
    test(`on linux-${arch}, PETSTORE_TEST_BROWSER=none hides all of them`, () => {
      const env = { PETSTORE_TEST_BROWSER: 'none', PATH: pathOf(chromium) }
      assert.equal(findBrowser(machine(env)), undefined)
    })
  }

  test('without an installed one, the packaged one is used on linux-x64 alone', () => {
    const env = { PATH: pathOf(folderWith('chromium', 0o644)) }
    assert.deepEqual(findBrowser({ env, platform: 'linux', arch: 'x64' }), { kind: 'packaged' })
    assert.equal(findBrowser({ env, platform: 'linux', arch: 'arm64' }), undefined)
    assert.equal(findBrowser({ env: {}, platform: 'linux', arch: 'arm64' }), undefined)
    const onMac = findBrowser({ env, platform: 'darwin', arch: 'arm64' })
    assert.notEqual(onMac?.kind, 'packaged')
  })

  test('a PETSTORE_TEST_BROWSER that is not a program is an error', () => {
    for (const path of [join(folder, 'missing'), empty]) {
      const env = { PETSTORE_TEST_BROWSER: path, PATH: pathOf(chromium) }
      assert.throws(() => findBrowser({ env, platform: 'linux', arch: 'x64' }), /is not a program/)
    }
  })
})
