import { describe, test } from 'node:test'
import { photoFilesBytesMax } from '../../src/photos/photo.ts'
import { assertRejected, pet, photo, text, webp, withFile } from '../support/photoLines.ts'

describe('an import of photos', { concurrency: 2 }, () => {
  for (const [what, lines, message] of [
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
  ] as const)
    test(`rejects those ${what}, and changes nothing`, (t) =>
      assertRejected(t, text(pet(1), ...lines), message))
})
