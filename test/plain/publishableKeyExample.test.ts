import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { browserTest, launchBrowser } from '../support/browser.ts'
import { startTestService } from '../support/service.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const example = read('examples/available-pets.html')

test('the guide shows the code of the example page', () => {
  const shown = /^const response = await fetch\([\s\S]*?(?=^```$)/m.exec(read('docs/guides/keys.md'))?.[0]
  assert.ok(shown)
  assert.ok(example.replace(/^ {6}/gm, '').includes(shown))
})

browserTest('the example page lists the available pets with a publishable key', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  for (const pet of [
    { name: 'Milo', categoryId: 3 },
    { name: 'Luna <b>', categoryId: 3 },
    { name: 'Sold', categoryId: 3, status: 'sold' },
  ]) {
    const { status } = await service.request('POST', '/v1/pets', { key: service.operatorKey, body: pet })
    assert.equal(status, 201)
  }

  let html = ''
  const site = createServer((_request, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(html),
  )
  t.after(() => site.close())
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const { key } = await service.makeKey({ origins: [origin] })
  html = example.replace('http://127.0.0.1:8080', service.base).replace('ps_live_...', key)

  const chromium = await launchBrowser()
  t.after(() => chromium.close())
  const page = await chromium.browser.newPage()
  await page.goto(origin)
  await page.locator('li').first().waitFor()
  assert.deepEqual(await page.locator('li').allTextContents(), ['Luna <b>', 'Milo'])
})
