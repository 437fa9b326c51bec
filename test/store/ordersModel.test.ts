import { test } from 'node:test'
import { compareOrdersWithModel } from '../support/ordersModel.ts'

test('no pet is sold twice, none is pending for a closed order, and the inventory is correct, in a run of random requests', (t) =>
  compareOrdersWithModel(t, 1))
