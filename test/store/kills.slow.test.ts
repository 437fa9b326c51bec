import { test } from 'node:test'
import { runKillLoop } from '../support/killLoop.ts'

const { PETSTORE_TEST_KILLS, PETSTORE_TEST_KILL_SECONDS } = process.env
/** The kills take less time than this, also on a slow machine. */
const secondsMax = 600
const loop =
  PETSTORE_TEST_KILLS === undefined
    ? { seconds: Number(PETSTORE_TEST_KILL_SECONDS ?? 20), killEveryMs: 1_000 }
    : {
        seconds: secondsMax,
        killEveryMs: 500,
        killsMax: Number(PETSTORE_TEST_KILLS),
      }
const length = PETSTORE_TEST_KILLS === undefined ? `${loop.seconds} seconds` : `${PETSTORE_TEST_KILLS} times`

test(`kills at any time for ${length} lose no confirmed change and duplicate nothing`, (t) =>
  runKillLoop(t, loop))
