import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cliOnNewDatabase, lines } from '../support/commands.ts'
import { pageHint } from '../support/samples.ts'

test('seed adds all sample animals to a new database, with photos that all differ, no key and no real person', async (t) => {
  const cli = await cliOnNewDatabase(t, {}, { isBare: true })
  assert.equal(
    await cli.ok(['seed']),
    `Added 24 animals, 49 photos and 6 orders. The photos are drawings.\n${pageHint}`,
  )
  const records = lines(await cli.export()).map((line) => JSON.parse(line))
  const ofType = (type: string) => records.filter((record) => record.type === type)
  assert.deepEqual([ofType('pet').length, ofType('profile').length], [24, 24])
  assert.equal(new Set(ofType('photo').map(({ files }) => files['320.webp'])).size, 49)
  assert.equal(new Set(ofType('category').map(({ name }) => name)).size, 7)
  // The README says so.
  assert.equal(ofType('category').find(({ id }) => id === 3)?.name, 'Cats')
  assert.equal(ofType('key').length, 0)
  const emails = ofType('order').map(({ customer }) => customer.email)
  assert.equal(emails.length, 6)
  for (const email of emails) assert.match(email, /@example\.org$/)
  assert.deepEqual(await cli.json(['seed']), { added: 0, photos: 0, orders: 0 })
})
