import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import { fetchPhoto, PhotoError } from '../../src/imports/fetchPhoto.ts'
import { photoServer } from '../support/importedPhotos.ts'

test('a photo that does not arrive in time is reported as such, also if a part has arrived', async (t) => {
  const { url } = await photoServer(t, {
    '/none': () => {},
    '/headers': (response) => response.writeHead(200, { 'content-length': '1000' }).flushHeaders(),
    '/part': (response) => response.writeHead(200, { 'content-length': '1000' }).write('a part'),
    '/redirect': (response) => response.writeHead(302, { location: '/part' }).end(),
  })
  const allowed = new BlockList()
  allowed.addSubnet('127.0.0.0', 8)
  const options = { allowed, signal: new AbortController().signal, timeoutMs: 500 }
  await Promise.all(
    ['/none', '/headers', '/part', '/redirect'].map((path) =>
      assert.rejects(
        fetchPhoto(`${url}${path}`, options),
        new PhotoError('It did not arrive within 0.5 seconds.'),
      ),
    ),
  )
})
