import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newDatabase } from '../support/engine.ts'
import { preloadOption, spawnPetstore } from '../support/process.ts'

/** The process sends itself the signal in the same turn in which the start ends, before it prints anything. */
const preload = (signal: NodeJS.Signals) => `const { log } = console
console.log = function (...args) {
  process.kill(process.pid, '${signal}')
  return log.apply(this, args)
}`

describe('a signal to stop', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal}, at the end of the start, is not lost`, { timeout: 120_000 }, async (t) => {
      const NODE_OPTIONS = preloadOption(preload(signal))
      const { child, ended } = spawnPetstore(['serve'], { ...(await newDatabase()), PORT: '0', NODE_OPTIONS })
      t.after(() => child.kill('SIGKILL'))
      const { code, stderr } = await ended
      assert.equal(code, 0)
      assert.match(stderr, /"msg":"stopped"/)
    })
  }
})
