import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sampleAnimals } from '../../src/commands/seed/sampleAnimals.ts'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { assertSameExport, cliOn } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { pageHint, samplesExcept } from '../support/samples.ts'
import { withIndexing } from '../support/service.ts'

const { service, call } = useCheckedCalls({ bounds: withIndexing })
const cli = () => cliOn(service.databaseEnv)

/** Only these are added, because all others are there already. Drawing all takes longer. */
const missing = ['Otto', 'Frieda', 'Suki', 'Moss', 'Bruno']

before(async () => {
  // Names the categories 1 to 6.
  await cli().ok(['seed', '--count', '6'])
  await cli().ok(['import'], samplesExcept(...missing))
  const { added, photos, orders } = await cli().json(['seed'])
  const samples = sampleAnimals.filter(({ name }) => missing.includes(name))
  const expected = [5, samples.flatMap((sample) => sample.photos).length, 2]
  assert.deepEqual([added, photos, orders], expected)
})

/** With all fields, also if the animal is not listed. */
const findSample = (name: string) =>
  eventually(`${name} is indexed`, async () => {
    const query = `view=staff&listed=any&status=available&status=pending&status=sold&q=${name}`
    const { status, json } = await call('GET', `/v1/listings?${query}`)
    return status === 200 && json.find((listing: { pet: { name: string } }) => listing.pet.name === name)
  })

test('sample animals have their profiles, photos and categories', async () => {
  const { json } = await call('GET', `/v1/listings/${(await findSample('Otto')).pet.id}`)
  const { pet, profile, photos } = json
  assert.deepEqual([pet.name, pet.status, pet.categoryId], ['Otto', 'available', 1])
  assert.deepEqual([profile.species, profile.breeds, profile.ageGroup], ['dog', ['Dachshund'], 'senior'])
  assert.ok(profile.specialNeeds && profile.description.includes('Frieda'))
  assert.deepEqual(profile.bondedWith, [(await findSample('Frieda')).pet.id])
  assert.equal(photos[0].alt, 'Drawing of Otto among autumn leaves')
  assert.equal(photos.at(-1).alt, 'Drawing of Otto and Frieda in the garden')
  const files = await Promise.all(
    photos.map(async ({ urls }: { urls: Record<string, string> }) => {
      const file = await service.request('GET', urls['640'] as string)
      assert.deepEqual([file.status, file.headers['content-type']], [200, 'image/webp'])
      return file.text
    }),
  )
  assert.equal(new Set(files).size, photos.length)
  const { json: history } = await call('GET', `/v1/pets/${pet.id}/history`)
  assert.deepEqual(history[0].actor, { command: 'seed' })
})

test('pending and sold sample animals have orders', async () => {
  for (const [name, orderStatus, petStatus] of [
    ['Suki', 'placed', 'pending'],
    ['Bruno', 'delivered', 'sold'],
  ] as const) {
    const { pet, profile } = await findSample(name)
    const { json } = await call('GET', `/v1/store/orders?petId=${pet.id}`)
    assert.deepEqual([json.length, json[0].status, pet.status], [1, orderStatus, petStatus])
    assert.equal(profile.adoptedOn !== null, petStatus === 'sold')
  }
})

test('one sample animal is only for staff', async () => {
  const { pet, profile } = await findSample('Moss')
  assert.ok(!profile.listed && profile.location && profile.staffNotes)
  assert.equal((await call('GET', `/v1/listings/${pet.id}`)).status, 404)
})

test('sample animals are not added twice, and those that were removed are added again', async () => {
  const before = await cli().export()
  assert.equal(
    await cli().ok(['seed']),
    `The sample animals are there already. Nothing was added.\n${pageHint}`,
  )
  assertSameExport(await cli().export(), before)
  const { pet } = await findSample('Moss')
  assert.equal((await call('DELETE', `/v1/pets/${pet.id}`)).status, 204)
  assert.equal(
    await cli().ok(['seed']),
    `Added 1 animal, 1 photo and 0 orders. The photos are drawings.\n${pageHint}`,
  )
  const store = { name: 'Second Chance Shelter', adoptionPage: true }
  assert.equal(
    (await call('PATCH', '/v1/store/profile', { key: service.operatorKey, body: store })).status,
    200,
  )
  assert.match(await cli().ok(['seed']), /\nThe adoption page, \/adopt, shows them\.\n$/)
})
