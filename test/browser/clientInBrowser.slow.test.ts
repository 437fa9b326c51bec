import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { useAdoptionPage } from '../support/adoptionPage.ts'
import { browserTest } from '../support/browser.ts'
import { png } from '../support/images.ts'
import { clientOf } from '../support/petstoreClient.ts'

const { service, site, open } = useAdoptionPage()

describe('the client in a browser', () => {
  browserTest('reads events, and verifies signatures', async (t) => {
    await clientOf(service).pets.create({ name: 'Luna', categoryId: 3 })
    const { key } = await service.makeKey({ origins: [site.origin], scopes: ['events:read'] })
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
    const now = new Date()
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', now, '{"type":"webhook.test"}'),
    }
    const { page } = await open(t)
    const found = await page.evaluate(`(async () => {
      const { Petstore, verifyWebhook } = await import('./petstore-client.min.js')
      const store = new Petstore({ baseUrl: ${JSON.stringify(service.base)}, apiKey: ${JSON.stringify(key)} })
      const message = await verifyWebhook('{"type":"webhook.test"}', ${JSON.stringify(headers)}, ${JSON.stringify(secret)})
      for await (const { type } of store.events.stream({ after: 0 }))
        if (type.startsWith('pet.')) return [type, message.type, store.rateLimit.limit]
    })()`)
    assert.deepEqual(found, ['pet.created', 'webhook.test', 60])
  })

  browserTest('follows no redirects', async (t) => {
    const { page } = await open(t)
    const found = await page.evaluate(`(async () => {
      const { Petstore } = await import('./petstore-client.min.js')
      const store = new Petstore({ baseUrl: '/moved/v1', apiKey: 'key' })
      return store.inventory.get().catch(({ code, status }) => [code, status])
    })()`)
    assert.deepEqual(found, ['unexpected_response', 0])
  })

  browserTest('sends the file of an input as it is, with the type of its content', async (t) => {
    const { page } = await open(t)
    const buffer = await png(40, 30)
    await page.setContent('<input type="file">')
    await page.locator('input').setInputFiles({ name: 'luna.jpg', mimeType: 'image/jpeg', buffer })
    const sent = page.waitForRequest('**/v1/pets/7/photos')
    await page.route('**/v1/pets/7/photos', (route) => route.fulfill({ status: 201, json: { id: 'a' } }))
    const added = await page.evaluate(`(async () => {
      const { Petstore } = await import('${site.origin}/petstore-client.min.js')
      const store = new Petstore({ baseUrl: '${site.origin}', apiKey: 'key' })
      return store.pets.photos.add(7, document.querySelector('input').files[0])
    })()`)
    assert.deepEqual(added, { id: 'a' })
    assert.equal((await sent).headers()['content-type'], 'image/png')
  })
})
