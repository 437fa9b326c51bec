import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { photoFileNames } from '../../src/photos/photo.ts'
import { assertCommandFails, cliOnNewDatabase } from '../support/commands.ts'

const token = (at: number): string => String(at).padStart(22, 'x')
const photo = (at: number, petId = 1): string =>
  JSON.stringify({
    ...{ type: 'photo', id: at, token: token(at), petId, position: at, alt: null, caption: null },
    ...{ width: 1, height: 1, color: '#808080', createdAt: 1, updatedAt: 1 },
    files: Object.fromEntries(photoFileNames.map((name) => [name, 'AAAA'])),
  })
const pet = (id: number): string => JSON.stringify({ id, name: 'Luna', categoryId: 1 })
const photos = (count: number, from = 1, petId = 1) =>
  Array.from({ length: count }, (_, at) => photo(from + at, petId))
const text = (...lines: string[]) => lines.join('\n')

describe('an import of photos', { concurrency: 2 }, () => {
  test('adds, keeps and changes them', async (t) => {
    const cli = await cliOnNewDatabase(t)
    const first = await cli.json(['import'], text(pet(1), ...photos(2)))
    assert.deepEqual(first.changes.photos, { added: 2, changed: 0, unchanged: 0 })
    const moved = photo(1).replace('"position":1', '"position":5')
    const second = await cli.json(['import'], text(moved, photo(2)))
    assert.deepEqual(second.changes.photos, { added: 0, changed: 1, unchanged: 1 })
  })

  for (const [what, lines, message] of [
    ['of a missing animal', [photo(1, 7)], /^Line 2: .*animal 7, which does not exist/],
    ['beyond 20 of an animal', photos(21), /^Line 22: animal 1 has 20 photos already/],
    ['of another animal', [photo(1), pet(2), photo(1, 2)], /^Line 4: the photo belongs to animal 1/],
  ] as const)
    test(`rejects those ${what}, and changes nothing`, async (t) => {
      const cli = await cliOnNewDatabase(t)
      const before = await cli.export()
      assertCommandFails(await cli.run(['import'], text(pet(1), ...lines)), 1, message)
      const { code, stderr } = await cli.run(['import', '--dry-run'], text(pet(1), ...lines))
      assert.equal(code, 1)
      assert.match(stderr, message)
      assert.equal(await cli.export(), before)
    })

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
