import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertCommandFails, cliOnNewDatabase } from '../support/commands.ts'
import { assertRejected, pet, photo, photos, text } from '../support/photoLines.ts'

describe('an import of photos', { concurrency: 2 }, () => {
  test('adds, keeps and changes them', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const first = await cli.json(['import'], text(pet(1), ...photos(2)))
    assert.deepEqual(first.changes.photos, { added: 2, changed: 0, unchanged: 0 })
    const moved = photo(1).replace('"position":1', '"position":5')
    const second = await cli.json(['import'], text(moved, photo(2)))
    assert.deepEqual(second.changes.photos, { added: 0, changed: 1, unchanged: 1 })
  })

  test('counts one that is named twice as its dry run does', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const moved = photo(1, 1, { position: 5 })
    for (const [lines, counts] of [
      [
        [photo(1), photo(1), photo(2), photo(2, 1, { alt: 'Asleep' })],
        { added: 2, changed: 1, unchanged: 1 },
      ],
      [[moved, moved], { added: 0, changed: 1, unchanged: 1 }],
      [[moved, photo(1), moved, moved], { added: 0, changed: 2, unchanged: 2 }],
      // What an import does not change.
      [[photo(3), photo(3, 1, { color: '#000000' })], { added: 1, changed: 0, unchanged: 1 }],
    ] as const) {
      const file = text(pet(1), ...lines)
      const dry = await cli.json(['import', '--dry-run'], file)
      assert.deepEqual(dry.changes.photos, counts)
      assert.deepEqual((await cli.json(['import'], file)).changes.photos, counts)
    }
  })

  for (const [what, lines, message] of [
    ['of a missing animal', [photo(1, 7)], /^Line 2: .*animal 7, which does not exist/],
    ['beyond 20 of an animal', photos(21), /^Line 22: animal 1 has 20 photos already/],
    ['of another animal', [photo(1), pet(2), photo(1, 2)], /^Line 4: the photo belongs to animal 1/],
  ] as const)
    test(`rejects those ${what}, and changes nothing`, (t) =>
      assertRejected(t, text(pet(1), ...lines), message))

  test('counts those that the animal has', async (t) => {
    const cli = await cliOnNewDatabase(t)
    await cli.ok(['import'], text(pet(1), ...photos(19)))
    assertCommandFails(
      await cli.run(['import'], text(...photos(2, 20))),
      1,
      /^Line 2: animal 1 has 20 photos/,
    )
    await cli.ok(['import'], text(...photos(20)))
  })
})
