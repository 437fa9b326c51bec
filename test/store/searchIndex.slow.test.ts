import { before, test } from 'node:test'
import { useCheckedCalls } from '../support/checkedCalls.ts'
import { animals, searchIndexOf } from '../support/searchIndex.ts'

const { addPets, searchDuringBuilds } = searchIndexOf(useCheckedCalls())

before(() => addPets(animals))

test('searches while the index is built again many times find everything or are unavailable', () =>
  searchDuringBuilds(10))
