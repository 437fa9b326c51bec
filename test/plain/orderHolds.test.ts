import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigError, readConfig } from '../../src/config.ts'
import { hourMs } from '../support/orderClient.ts'

describe('PETSTORE_ORDER_HOLD_HOURS', () => {
  for (const [value, hours] of [
    ['', 72],
    ['1', 1],
    ['8760', 8760],
  ] as const) {
    test(`accepts "${value}": ${hours} hours`, () => {
      assert.equal(readConfig({ PETSTORE_ORDER_HOLD_HOURS: value }).orderHoldMs, hours * hourMs)
    })
  }

  for (const value of ['0', '-1', '1.5', '8761', 'three days', '1e2']) {
    test(`rejects "${value}"`, () => {
      assert.throws(
        () => readConfig({ PETSTORE_ORDER_HOLD_HOURS: value }),
        (error) =>
          error instanceof ConfigError &&
          error.problems.length === 1 &&
          /^PETSTORE_ORDER_HOLD_HOURS /.test(String(error.problems[0])),
      )
    })
  }
})
