import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Fault, randomFrom, startFaultProxy } from '../support/faultProxy.ts'
import { clientOf } from '../support/petstoreClient.ts'
import { useService } from '../support/useService.ts'

const service = useService()

test('2,000 creates through a faulty network give exactly 2,000 animals', async (t) => {
  const random = randomFrom(16)
  const faults: Fault[] = [
    'reset',
    'resetAfterWork',
    'truncatedAfterWork',
    'shortBodyAfterWork',
    '429',
    'truncated429',
    '503',
    '503AfterWork',
  ]
  const proxy = await startFaultProxy(
    t,
    () => service.base,
    () => (random() < 0.25 ? (faults[Math.floor(random() * faults.length)] as Fault) : 'none'),
  )
  // Short delays: there are hundreds of them.
  const clock = { random: () => random() / 20 }
  const store = clientOf(service, { baseUrl: proxy.base, maxRetries: 20 }, clock)
  const { id: categoryId } = await store.categories.create({ name: 'Faults' })
  const count = 2_000
  const created = await Promise.all(
    Array.from({ length: count }, (_, index) => store.pets.create({ name: `Pet ${index}`, categoryId })),
  )
  const names = new Set(created.map(({ name }) => name))
  assert.equal(names.size, count)
  const stored = new Map<unknown, string>()
  for await (const { id, name } of store.pets.list({ categoryId })) stored.set(id, name)
  assert.equal(stored.size, count)
  for (const { id, name } of created) assert.equal(stored.get(id), name)
  for (const fault of faults) assert.ok((proxy.counts.get(fault) ?? 0) > 20, `There was no ${fault}.`)
})
