import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { breakingChanges } from '../support/breakingChanges.ts'
import { readDocument, root } from '../support/openapi.ts'

for (const file of readdirSync(`${root}docs/openapi`)) {
  test(`nothing that callers of ${file.replace('.json', '')} rely on has changed`, () => {
    const released = readDocument(`docs/openapi/${file}`)
    assert.deepEqual(breakingChanges(released, readDocument('openapi.json')), [])
  })
}
