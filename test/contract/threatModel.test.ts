import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/threat-model.md', root), 'utf8')

/** The files that the page names, each with the names of tests after it. */
const named = [...page.matchAll(/`(test\/[\w./-]+\.test\.ts)`((?:,? "[^"]+")*)/g)].map(
  ([, file = '', names = '']) => ({
    file,
    tests: [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
  }),
)
const rowsOf = (heading: string) =>
  (page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)

describe('docs/threat-model.md', () => {
  for (const [file, references] of Map.groupBy(named, (one) => one.file)) {
    test(`names tests that exist: ${file}`, () => {
      assert.ok(existsSync(new URL(file, root)), file)
      const source = readFileSync(new URL(file, root), 'utf8')
      const names = [...source.matchAll(/\b(?:test|describe|browserTest)\(\s*(['"])(.*?)\1,/g)].map(
        ([, , name]) => name,
      )
      for (const { tests } of references) for (const name of tests) assert.ok(names.includes(name), name)
    })
  }

  test('has every risk of the OWASP API Security Top 10, in order', () => {
    const risks = rowsOf('OWASP API Security Top 10 (2023)').map((row) => /^\| (API\d+:2023) /.exec(row)?.[1])
    assert.deepEqual(
      risks,
      Array.from({ length: 10 }, (_, index) => `API${index + 1}:2023`),
    )
  })

  test('names a test in every row of what is done', () => {
    for (const heading of ['OWASP API Security Top 10 (2023)', 'Parts that strangers reach', 'Secrets'])
      for (const row of rowsOf(heading)) assert.match(row, /`test\/[\w./-]+\.test\.ts` "/, row)
    assert.ok(named.flatMap(({ tests }) => tests).length > 40)
  })
})
