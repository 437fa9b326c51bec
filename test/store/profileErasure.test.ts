import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { allTracesDisappear, remainingTraces } from '../support/customerData.ts'
import { databaseText } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'

const { service, call } = useCheckedCalls()

const addPet = async (): Promise<number> =>
  (await call('POST', '/v1/pets', { body: { name: 'Luna', categoryId: 3 } })).json.id
const update = (id: number, body: object) => call('PATCH', `/v1/pets/${id}/profile`, { body })

test('the location and the notes of staff leave no trace when they are cleared', async () => {
  const id = await addPet()
  const person = { traces: ['foster-home-of-a-person', 'notes-about-a-person'] }
  const [location, staffNotes] = person.traces
  await update(id, { location, staffNotes })
  assert.deepEqual(await remainingTraces(person, service.databaseEnv), person.traces)
  await update(id, { location: null, staffNotes: 'Nothing.' })
  await allTracesDisappear(person, service.databaseEnv)
})

test('the profile of an animal leaves no trace when the animal is removed', async () => {
  const id = await addPet()
  const person = { traces: ['another-foster-home'] }
  await update(id, { location: person.traces[0] })
  await call('DELETE', `/v1/pets/${id}`)
  await allTracesDisappear(person, service.databaseEnv)
})

test('a photo leaves no trace when it is removed, or its animal is', async () => {
  const [first, second] = [await addPet(), await addPet()]
  const add = async (id: number, width: number) => {
    const headers = { 'content-type': 'image/jpeg' }
    const { json } = await call('POST', `/v1/pets/${id}/photos`, { body: await jpeg(width, 40), headers })
    const response = await fetch(new URL(json.urls.jpeg, service.base))
    // The middle of the file. The beginning is the same in all of them.
    const bytes = Buffer.from(await response.arrayBuffer())
    const trace = bytes.subarray(bytes.length - 60, bytes.length - 20)
    return {
      id: json.id as string,
      trace: service.databaseEnv.DATABASE_URL ? trace.toString('hex') : trace.toString('latin1'),
    }
  }
  const [removed, orphaned] = [await add(first, 50), await add(second, 70)]
  const stored = () => databaseText(service.databaseEnv)
  for (const { trace } of [removed, orphaned]) assert.ok((await stored()).includes(trace))
  await call('DELETE', `/v1/pets/${first}/photos/${removed.id}`)
  await call('DELETE', `/v1/pets/${second}`)
  await eventually('no trace is left', async () => {
    const text = await stored()
    return !text.includes(removed.trace) && !text.includes(orphaned.trace)
  })
})
