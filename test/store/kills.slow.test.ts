import { test } from 'node:test'
import { runKillLoop } from '../support/killLoop.ts'

const seconds = Number(process.env.PETSTORE_TEST_KILL_SECONDS ?? 20)

test(`kills at any time for ${seconds} seconds lose no confirmed change and duplicate nothing`, (t) =>
  runKillLoop(t, { seconds, killEveryMs: 1_000 }))
