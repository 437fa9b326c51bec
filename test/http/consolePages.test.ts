import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { consolePages } from '../../src/pages/console.ts'
import { ensureConsoleBuilt } from '../support/consoleBuild.ts'
import { startTestService, type TestService } from '../support/service.ts'

const distFolder = new URL('../../console/dist/', import.meta.url)
const scriptBytesMax = 120 * 1024

let service: TestService
before(async () => {
  ensureConsoleBuilt()
  service = await startTestService()
})
after(() => service?.stop())

const assetNames = () => readdirSync(new URL('assets/', distFolder))

describe('the console', () => {
  const screens = ['', '/', '/animals', '/ANIMALS', '/orders', '/keys/5'].map((path) => [path, 200] as const)
  const others = ['/%', '/keys/%3Cb%3E', '/none.js', '/a/b/c', '/..%2Fpackage.json', '/assets/none.js']
  for (const [path, expected] of [...screens, ...others.map((path) => [path, 404] as const)]) {
    test(`/console${path} is the document of the console, with status ${expected}`, async () => {
      const { status, headers, text } = await service.request('GET', `/console${path}`)
      assert.equal(status, expected)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(headers['cache-control'], 'no-cache')
      assert.match(String(headers.etag), /^"[^"]+"$/)
      assert.match(text, /<div id="app">/)
      assert.match(text, /<html lang="en" data-environment="production"/)
    })
  }

  test('has a policy without inline script or style and without another origin', async () => {
    const { headers, text } = await service.request('GET', '/console')
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
    assert.match(policy, /connect-src 'self';/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.doesNotMatch(text, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i)
    const addresses = [...text.matchAll(/\b(?:src|href)="([^"]*)"/g)].map((match) => match[1] ?? '')
    assert.ok(addresses.length >= 3)
    for (const address of addresses) assert.match(address, /^\/(?:console\/assets\/|docs$)/)
  })

  test('names the environment in the document', async () => {
    const staging = await startTestService({ PETSTORE_ENV: 'staging' })
    try {
      const { text } = await staging.request('GET', '/console')
      assert.match(text, /<html lang="en" data-environment="staging"/)
    } finally {
      await staging.stop()
    }
  })

  test('has assets that are named by their content, immutable and compressed', async () => {
    const names = assetNames()
    for (const extension of ['.js', '.css', '.svg']) assert.ok(names.some((name) => name.endsWith(extension)))
    for (const name of names) {
      assert.match(name, /-[\w-]{8,}\.(?:js|css|svg)$/)
      const path = `/console/assets/${name}`
      const plain = await service.request('GET', path)
      assert.equal(plain.status, 200, name)
      assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.equal(plain.headers['x-content-type-options'], 'nosniff')
      const zipped = await service.request('HEAD', path, { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(zipped.headers['content-encoding'], 'gzip')
    }
    const scriptName = names.find((name) => name.endsWith('.js'))
    const script = await service.request('GET', `/console/assets/${scriptName}`)
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
  })

  test('needs at most 120 KiB of compressed JavaScript for all screens together', () => {
    const sizes = assetNames()
      .filter((name) => name.endsWith('.js'))
      .map((name) => gzipSync(readFileSync(new URL(`assets/${name}`, distFolder))).length)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(total <= scriptBytesMax, `${total} bytes`)
  })

  test('has no source that writes HTML', () => {
    const folder = new URL('../../console/src/', import.meta.url)
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!/\.tsx?$/.test(entry.name)) continue
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8')
      assert.doesNotMatch(
        text,
        /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write/,
        entry.name,
      )
    }
  })
})

describe('without a build', () => {
  test('every path of the console says how to build it', async () => {
    const pages = consolePages('production', new URL('file:///nonexistent/console/dist/'))
    assert.deepEqual(
      pages.map(({ path }) => path.replace(/\(.*?\)/g, '')),
      ['/console', '/console/:screen', '/console/:screen/:id'],
    )
    for (const page of pages) assert.match(await page.render(), /npm run build:console/)
  })

  test('files other than assets are not served', () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-console-'))
    try {
      mkdirSync(join(folder, 'assets'))
      writeFileSync(join(folder, 'index.html'), '')
      writeFileSync(join(folder, 'assets', 'main-12345678.js'), '')
      writeFileSync(join(folder, 'assets', 'main-12345678.js.map'), '')
      const paths = consolePages('production', pathToFileURL(`${folder}/`)).map(({ path }) => path)
      assert.deepEqual(
        paths.filter((path) => path.includes('assets')),
        ['/console/assets/main-12345678.js'],
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
