import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type PhotoFileName, photoFileNames, photoFilesBytesMax } from '../../src/photos/photo.ts'
import { assertCommandFails, cliOnNewDatabase } from '../support/commands.ts'

const webp = Buffer.from('RIFF\0\0\0\0WEBP')
const jpeg = Buffer.from('\xff\xd8\xff', 'latin1')
/** The files of a photo, some of which are given. */
const filesWith = (given: Partial<Record<PhotoFileName, Buffer>> = {}) => {
  const fileOf = (name: PhotoFileName) => given[name] ?? (name.endsWith('webp') ? webp : jpeg)
  return Object.fromEntries(photoFileNames.map((name) => [name, fileOf(name).toString('base64')]))
}
const token = (at: number): string => String(at).padStart(22, 'x')
const photo = (at: number, petId = 1, fields: object = {}): string =>
  JSON.stringify({
    ...{ type: 'photo', id: at, token: token(at), petId, position: at, alt: null, caption: null },
    ...{ width: 1, height: 1, color: '#808080', createdAt: 1, updatedAt: 1, files: filesWith() },
    ...fields,
  })
const withFile = (name: PhotoFileName, bytes: Buffer): string =>
  photo(1, 1, { files: filesWith({ [name]: bytes }) })
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
    [
      'with HTML as WebP',
      [withFile('320.webp', Buffer.from('<html>'))],
      /^Line 2: files\/320\.webp must be a WebP image/,
    ],
    ['with WebP as JPEG', [withFile('1600.jpg', webp)], /^Line 2: files\/1600\.jpg must be a JPEG image/],
    [
      'with no bytes',
      [withFile('640.webp', Buffer.alloc(0))],
      /^Line 2: files\/640\.webp must be a WebP image/,
    ],
    [
      'with too many bytes',
      [withFile('1600.webp', Buffer.concat([webp, Buffer.alloc(photoFilesBytesMax)]))],
      /^Line 2: files must have at most 3000000 bytes together/,
    ],
    ['wider than all', [photo(1, 1, { width: 1_601 })], /^Line 2: width must be an integer from 1 to 1600/],
    [
      'higher than all',
      [photo(1, 1, { height: 2_401 })],
      /^Line 2: height must be an integer from 1 to 2400/,
    ],
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
