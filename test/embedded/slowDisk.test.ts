import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** A disk that takes what it is given when the test lets it: before anything that uses it is loaded. */
const waiting: (() => void)[] = []
let isHeld = false
const sync = fs.fdatasync
fs.fdatasync = ((file: number, done: fs.NoParamCallback) => {
  if (isHeld) waiting.push(() => sync(file, done))
  else sync(file, done)
}) as typeof fs.fdatasync
syncBuiltinESMExports()
const { startTestService } = await import('../support/service.ts')
const { eventually } = await import('../support/eventually.ts')

test('while the disk is busy with changes nobody is told of them, and everybody can read', async (t) => {
  const service = await startTestService()
  t.after(() => service.stop())
  const key = service.operatorKey
  const names = async () =>
    (await service.request('GET', '/v1/pets', { key })).json.map(({ name }: { name: string }) => name)
  const add = (name: string) => service.request('POST', '/v1/pets', { key, body: { name, categoryId: 1 } })
  assert.equal((await add('before')).status, 201)
  isHeld = true
  t.after(() => {
    isHeld = false
    for (const release of waiting.splice(0)) release()
  })
  let answered = 0
  const adding = Array.from({ length: 40 }, async (_, n) => {
    const answer = await add(`held ${n}`)
    answered++
    return answer.status
  })
  await eventually('the disk has something to do', () => waiting.length > 0)
  for (let round = 0; round < 50; round++) {
    assert.ok((await names()).includes('before') || round > 0)
    await nextTurn()
  }
  assert.equal(answered, 0, 'a change was answered that was not on disk')
  isHeld = false
  for (const release of waiting.splice(0)) release()
  assert.deepEqual(new Set(await Promise.all(adding)), new Set([201]))
})
