import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { forbiddenChanges } from '../support/breakingChanges.ts'
import { readDocument, root } from '../support/openapi.ts'

const changelog = readFileSync(`${root}CHANGELOG.md`, 'utf8')

for (const file of readdirSync(`${root}docs/openapi`)) {
  const version = file.replace('.json', '')
  test(`nothing that callers of ${version} rely on has changed`, () => {
    const released = readDocument(`docs/openapi/${file}`)
    const [newer, older] = changelog.split(`\n## [${version}] `)
    assert.ok(older !== undefined, `CHANGELOG.md has no section of ${version}.`)
    assert.deepEqual(forbiddenChanges(released, readDocument('openapi.json'), String(newer)), [])
  })
}
