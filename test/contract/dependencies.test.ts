import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import {
  installedLicenses,
  licenseProblems,
  lockFiles,
  toolLicenseProblems,
} from '../../tools/dependencies.ts'
import { assertSameNames } from '../support/sameNames.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const page = read('docs/dependencies.md')
const rows = page.split('\n').filter((line) => line.startsWith('| `'))
const { dependencies } = JSON.parse(read('package.json'))

describe('docs/dependencies.md', () => {
  test('has every production dependency', () => {
    const described = rows.map((row) => String(/^\| `([^`]+)`/.exec(row)?.[1]))
    assertSameNames('The table', described, Object.keys(dependencies))
    assert.match(page, new RegExp(`^The service has ${described.length} production dependencies`, 'm'))
  })

  test('says of each why, its size, what uses it, and what it would cost to leave it', () => {
    for (const row of rows) {
      const cells = row.split('|').map((cell) => cell.trim())
      assert.equal(cells.length, 8, row)
      assert.ok(
        cells.slice(1, -1).every((cell) => cell !== ''),
        row,
      )
      assert.match(String(cells[4]), /^\d+\.\d MB$/)
    }
  })

  test('names files that exist', () => {
    for (const [, path = ''] of page.matchAll(/`(src\/[^`]+)`/g))
      assert.ok(existsSync(new URL(path, root)), path)
  })
})

test('the client has no dependencies', () => {
  const { dependencies, peerDependencies } = JSON.parse(read('client/package.json'))
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined])
})

describe('the licenses of what builds, tests and measures', () => {
  test('are checked for every lock file', () => {
    const found = globSync('**/package-lock.json', { cwd: root, exclude: ['**/node_modules'] })
    assertSameNames('The lock files', lockFiles, found)
  })

  for (const file of lockFiles)
    test(`are allowed: ${file}`, () => assert.deepEqual(toolLicenseProblems(file), []))
})

describe('the licenses of what is delivered', () => {
  test('are allowed', () => {
    const packages = installedLicenses()
    const names = packages.map(({ name }) => name)
    for (const name of [
      ...Object.keys(dependencies),
      'preact',
      '@img/sharp-wasm32',
      '@img/sharp-libvips-linux-x64',
    ])
      assert.ok(names.includes(name), name)
    assert.deepEqual(licenseProblems(packages), [])
  })

  test('are recognized: one of several, or all', () => {
    const scenarios: [name: string, license: string | undefined, isAllowed: boolean][] = [
      ['a', 'MIT', true],
      ['a', '(GPL-3.0-only OR MIT)', true],
      ['a', 'MIT AND Apache-2.0', true],
      ['a', 'MIT AND GPL-3.0-only', false],
      ['a', 'LGPL-3.0-or-later', false],
      ['@img/sharp-libvips-linux-x64', 'LGPL-3.0-or-later', true],
      ['@img/sharp-libvips-linux-x64', 'GPL-3.0-only', false],
      ['a', 'SEE LICENSE IN LICENSE.md', false],
      ['a', 'UNLICENSED', false],
      ['a', undefined, false],
    ]
    for (const [name, license, isAllowed] of scenarios) {
      const problems = licenseProblems([
        { name, version: '1.0.0', ...(license !== undefined && { license }) },
      ])
      assert.equal(problems.length === 0, isAllowed, `${name} ${license}`)
    }
  })
})
