import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { describeCounts } from '../../src/commands/counts.ts'
import { filePositions } from '../../src/commands/export/lines.ts'
import { readRecords } from '../../src/commands/import/readRecords.ts'
import { eventTypes } from '../../src/events/event.ts'
import type { Resource } from '../../src/records/resource.ts'
import { counters, resources } from '../../src/resources.ts'
import { importsOf } from '../support/sources.ts'

const top = fileURLToPath(new URL('../../src/', import.meta.url))
const nameOf = ({ type }: Resource) => type

describe('the list of resources', () => {
  for (const file of globSync('*/resource.ts', { cwd: top, exclude: ['records/*'] }))
    test(`has the one of ${file}`, () => {
      const imports = importsOf({ text: readFileSync(`${top}resources.ts`, 'utf8') })
      assert.ok(imports.includes(`./${file}`), `src/resources.ts does not list the resource of ${file}.`)
    })

  test('has each name and each position once', () => {
    const counterNames = counters.map(({ name }) => name)
    for (const names of [
      resources.map(nameOf),
      resources.map(({ countName }) => countName),
      resources.map(({ table }) => table),
      resources.flatMap(({ positions }) => positions),
      counterNames,
    ])
      assert.deepEqual(names, [...new Set<unknown>(names)])
  })

  test('has owners before what they own, and their changes have events', () => {
    for (const [at, { type, owner }] of resources.entries()) {
      if (!owner) continue
      const found = resources.slice(0, at).find((other) => other.type === owner.type)
      assert.ok(found, `${owner.type} must come before ${type}, which it owns.`)
      assert.equal(found.hasUnrecordedChanges, undefined, `${owner.type} owns ${type}.`)
    }
  })

  test('has event types for each, of its own or of its owner', () => {
    for (const { type, owner } of resources) {
      const prefixes = [`${type}.`, ...(owner ? [`${owner.type}.${type}_`] : [])]
      assert.ok(
        eventTypes.some((event) => prefixes.some((prefix) => event.startsWith(prefix))),
        `There is no event type ${prefixes.join('* or ')}*, by which an export in batches finds changes.`,
      )
    }
  })
})

// Later resources can be added to each, but the order of those of version 1.0.0 stays.
describe('format 1 has', () => {
  const ofFirstRelease = (names: readonly string[], first: readonly string[]) =>
    assert.deepEqual(
      names.filter((name) => first.includes(name)),
      first,
    )

  test('the counters in this order', () =>
    ofFirstRelease(
      counters.map(({ name }) => name),
      ['lastPetId', 'lastKeyId', 'lastCategoryId', 'lastOrderId', 'lastEventId'],
    ))

  test('the records in this order', () =>
    assert.deepEqual(
      filePositions(resources)
        .map(({ resource }) => nameOf(resource))
        .filter((type) => ['category', 'order', 'pet', 'key'].includes(type)),
      ['category', 'order', 'pet', 'order', 'key'],
    ))
})

test('the numbers are listed for people, keys last', () => {
  const counts = { pets: 3, categories: 1, orders: 0, keys: 1 }
  assert.match(describeCounts(counts), /^3 animals, 1 category, 0 orders(?:, 0 [\w ]+)* and 1 key$/)
})

test('an unknown type is reported with those that exist', async () => {
  const options = { format: 'ndjson', withKeys: true, map: new Map(), externalId: undefined } as const
  const source = (async function* () {
    yield Buffer.from('{"type":"dragon"}')
  })()
  const [batch] = await Array.fromAsync(readRecords(source, options))
  const reason = batch?.problems[0]?.reason
  assert.match(
    `${reason}`,
    /^expected an object whose type, if any, is petstore, category, pet,(?: \w+,)* order(?:, \w+)* or key$/,
  )
  for (const { type } of resources) assert.ok(reason?.includes(type))
})
