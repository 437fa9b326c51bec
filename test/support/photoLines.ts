import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type PhotoFileName, photoFileNames } from '../../src/photos/photo.ts'
import { assertCommandFails, cliOnNewDatabase } from './commands.ts'

/** Lines of a file with animals and their photos. */

export const webp = Buffer.from('RIFF\0\0\0\0WEBP')
const jpeg = Buffer.from('\xff\xd8\xff', 'latin1')
/** The files of a photo, some of which are given. */
const filesWith = (given: Partial<Record<PhotoFileName, Buffer>> = {}) => {
  const fileOf = (name: PhotoFileName) => given[name] ?? (name.endsWith('webp') ? webp : jpeg)
  return Object.fromEntries(photoFileNames.map((name) => [name, fileOf(name).toString('base64')]))
}
const token = (at: number): string => String(at).padStart(22, 'x')
export const photo = (at: number, petId = 1, fields: object = {}): string =>
  JSON.stringify({
    ...{ type: 'photo', id: at, token: token(at), petId, position: at, alt: null, caption: null },
    ...{ width: 1, height: 1, color: '#808080', createdAt: 1, updatedAt: 1, files: filesWith() },
    ...fields,
  })
export const withFile = (name: PhotoFileName, bytes: Buffer): string =>
  photo(1, 1, { files: filesWith({ [name]: bytes }) })
export const pet = (id: number): string => JSON.stringify({ id, name: 'Luna', categoryId: 1 })
export const photos = (count: number, from = 1, petId = 1) =>
  Array.from({ length: count }, (_, at) => photo(from + at, petId))
export const text = (...lines: string[]) => lines.join('\n')

/** An import and its dry run reject the file, and change nothing. */
export async function assertRejected(t: TestContext, file: string, message: RegExp): Promise<void> {
  const cli = await cliOnNewDatabase(t)
  const before = await cli.export()
  assertCommandFails(await cli.run(['import'], file), 1, message)
  const { code, stderr } = await cli.run(['import', '--dry-run'], file)
  assert.equal(code, 1)
  assert.match(stderr, message)
  assert.equal(await cli.export(), before)
}
