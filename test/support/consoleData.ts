import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { addUsage } from '../../src/usage/queries.ts'
import { buckets, totalsKeyId, type UsageRow } from '../../src/usage/usage.ts'
import { picture } from './images.ts'
import type { ConsoleTest } from './useConsole.ts'

/** A store that has been in use for a while, for the pictures of the console. */

const minuteMs = 60_000

const animals = ['Milo', 'Luna', 'Charlie', 'Bella', 'Oskar', 'Nala', 'Simba', 'Coco', 'Rocky', 'Daisy']

export async function addAnimals(test: ConsoleTest): Promise<void> {
  const { api } = test
  await api('POST', '/categories', { name: 'Dogs' })
  for (const name of animals) await api('POST', '/pets', { name, categoryId: 1 })
  await addProfiles(test)
  for (const petId of [2, 3, 4, 5]) {
    const order = await api('POST', '/store/orders', { petId, customer: { name: 'Ada Example' } })
    if (petId < 5) await api('PATCH', `/store/orders/${order.id}`, { status: 'approved' })
    if (petId < 4) await api('PATCH', `/store/orders/${order.id}`, { status: 'delivered' })
  }
}

const profiles: readonly object[] = [
  { species: 'dog', breeds: ['beagle'], sex: 'male', birthDate: '2023-05-14', size: 'medium' },
  { species: 'dog', breeds: ['labrador retriever', 'poodle'], sex: 'female', birthDate: '2025-11-02' },
  { species: 'cat', mixed: true, sex: 'female', ageGroup: 'senior', size: 'small' },
  { species: 'cat', breeds: ['maine coon'], birthDate: '2020-02-20', size: 'large' },
  { species: 'rabbit', sex: 'male', ageGroup: 'young', listed: false },
]
/** The colors and the shape of each photo. */
const photos = [
  ['#c9a27a', '#7d5a3c', 800, 600],
  ['#8fa7b8', '#42586a', 600, 900],
  ['#d7c9a8', '#a48b5c', 900, 600],
] as const

/** Adds profiles to the first animals, and photos to most of them. */
async function addProfiles({ api, service }: ConsoleTest): Promise<void> {
  for (const [index, profile] of profiles.entries()) await api('PATCH', `/pets/${index + 1}/profile`, profile)
  for (const [index, [left, right, width, height]] of photos.entries()) {
    const body = await picture(width, height, left, right).jpeg().toBuffer()
    await addPhoto(service, index + 1, body)
  }
}

export async function addPhoto(
  { request, operatorKey }: ConsoleTest['service'],
  petId: number,
  body: Buffer,
): Promise<void> {
  const headers = { 'content-type': 'image/jpeg' }
  const response = await request('POST', `/v1/pets/${petId}/photos`, { key: operatorKey, headers, body })
  assert.equal(response.status, 201, response.text)
}

/** Requests of a key over the last day, with a rush hour, some rejections and a few errors. */
export async function addRequests(database: Database, keyId: number, now: number): Promise<void> {
  const rows: UsageRow[] = []
  for (let minutesAgo = 1; minutesAgo < 24 * 60; minutesAgo++) {
    const startsAt = Math.floor(now / minuteMs - minutesAgo) * minuteMs
    const wave = Math.sin(minutesAgo / 90) + Math.sin(minutesAgo / 7) / 3 + 1.4
    const counts: [name: string, count: number][] = [['requests', Math.round(wave * 18) + 1]]
    if (minutesAgo % 11 === 0) counts.push(['rejected.rate_limit_exceeded', Math.round(wave * 5) + 1])
    if (minutesAgo % 29 === 0) counts.push(['rejected.insufficient_scope', 2])
    if (minutesAgo % 23 === 0) counts.push(['errors', 3])
    for (const [name, count] of counts)
      for (const key_id of [keyId, totalsKeyId])
        rows.push({ key_id, bucket_ms: buckets.minutes.lengthMs, starts_at: startsAt, name, count })
  }
  for (let start = 0; start < rows.length; start += 500)
    await database.write((trx) => addUsage(trx, rows.slice(start, start + 500)))
}
