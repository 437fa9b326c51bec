import { test } from 'node:test'
import { comparePetsWithModel } from '../support/petsModel.ts'

test('the service agrees with a model of the animals in a run of random operations', () =>
  comparePetsWithModel(1))
