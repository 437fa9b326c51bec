import { test } from 'node:test'
import { comparePetsWithModel } from '../support/petsModel.ts'

test('the service agrees with a model of the animals over 24 runs of random operations', () =>
  comparePetsWithModel(24))
