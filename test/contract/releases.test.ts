import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { forbiddenChanges } from '../support/breakingChanges.ts'
import { type Node, readDocument, root } from '../support/openapi.ts'

const changelog = readFileSync(`${root}CHANGELOG.md`, 'utf8')
const current = readDocument('openapi.json')

/** Responses list the scopes of a key. Callers ignore scopes that they do not know, so a new one is allowed. */
const ofNewScopes = /\/scopes(?:\/\*)? (?:enum|maxItems): was /
const scopesOf = (document: Node): string[] => document.components.schemas.Scope.enum

for (const file of readdirSync(`${root}docs/openapi`)) {
  const version = file.replace('.json', '')
  test(`nothing that callers of ${version} rely on has changed`, () => {
    const released = readDocument(`docs/openapi/${file}`)
    const [newer, older] = changelog.split(`\n## [${version}] `)
    assert.ok(older !== undefined, `CHANGELOG.md has no section of ${version}.`)
    const changes = forbiddenChanges(released, current, String(newer))
    assert.deepEqual(
      changes.filter((change) => !ofNewScopes.test(change)),
      [],
    )
    const unchanged = scopesOf(current).filter((scope) => scopesOf(released).includes(scope))
    assert.deepEqual(unchanged, scopesOf(released), 'no scope was removed')
    for (const scope of scopesOf(current))
      if (!unchanged.includes(scope))
        assert.ok(newer?.includes(`\`${scope}\``), `CHANGELOG.md names ${scope}.`)
  })
}
