import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import type { Database } from '../../src/database/database.ts'
import { indexStep, needsIndexing } from '../../src/listings/indexing.ts'
import { findListings } from '../../src/listings/queries.ts'
import { conditionsOf, hasAge, type ListingFilter, meets } from '../../src/listings/query.ts'
import { termsOf } from '../../src/listings/terms.ts'
import { wordsOf } from '../../src/listings/words.ts'
import { petStatuses } from '../../src/pets/pet.ts'
import { createPet } from '../../src/pets/queries.ts'
import {
  ageGroups,
  companions,
  emptyProfile,
  type Profile,
  sexes,
  sizes,
} from '../../src/profiles/profile.ts'
import {
  findPetsWithProfiles,
  type PetWithProfile,
  recordProfileUpdates,
  saveProfile,
} from '../../src/profiles/queries.ts'
import { newDatabase, openTestDatabase, removeDatabase } from '../support/engine.ts'

const animalCount = 400
const queryCount = 10_000
const limit = 20
const now = Date.UTC(2026, 10, 17, 12)

/** Few values, so that queries find something, among them ones that are hard to index. */
const word = fc.constantFrom(
  ...[
    'friendly',
    'friend',
    'dog',
    'Zoë',
    'zoe',
    'STRASSE',
    'straße',
    "don't",
    '日本語の犬',
    '犬',
    'हिन्दी',
    'שָׁלוֹם',
  ],
  ...[
    'مُحَمَّد',
    'NEAR',
    'AND',
    'or',
    'not',
    'ﬁne',
    'ｶﾀｶﾅ',
    'สวัสดี',
    'İstanbul',
    'a'.repeat(40),
    '0042',
    '🐕',
    '_',
    'w_lab',
  ],
)
const punctuation = fc.constantFrom(
  ' ',
  ', ',
  '-',
  '"',
  "'",
  ' * ',
  '(',
  ')',
  ':',
  ' | ',
  ' & ',
  '!',
  '\\',
  '<->',
  '\n',
)
const text = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.array(fc.tuple(word, punctuation), { maxLength: 6 }).map((parts) => parts.flat().join('')),
  },
  {
    weight: 1,
    arbitrary: fc
      .string({ unit: 'binary', maxLength: 12 })
      .map((chars) => chars.replaceAll('\0', '').toWellFormed()),
  },
)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const species = fc.constantFrom('dog', 'cat', 'katze', 'żółw')
const day = fc
  .integer({ min: 0, max: 20 * 365 })
  .map((days) => new Date(now - days * 86_400_000).toISOString().slice(0, 10))
const compatibility = maybe(fc.constantFrom('yes' as const, 'no' as const, 'selective' as const))
const profile: fc.Arbitrary<Profile> = fc
  .record({
    species: maybe(species),
    breeds: fc.array(fc.constantFrom('Boxer', 'BOXER ', 'Épagneul', 'Mix'), { maxLength: 2 }),
    sex: maybe(fc.constantFrom(...sexes)),
    size: maybe(fc.constantFrom(...sizes)),
    ageGroup: maybe(fc.constantFrom(...ageGroups)),
    birthDate: maybe(day),
    specialNeeds: maybe(fc.boolean()),
    goodWith: fc.record({ children: compatibility, dogs: compatibility, cats: compatibility }),
    colors: fc.array(word, { maxLength: 2 }),
    description: maybe(text),
    microchip: maybe(fc.constantFrom('276098', '276099')),
    listed: fc.boolean(),
  })
  .map((fields) => ({ ...emptyProfile, ...fields }))

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const filter: fc.Arbitrary<ListingFilter> = fc.record({
  status: optional(fc.array(fc.constantFrom(...petStatuses), { minLength: 1, maxLength: 3 })),
  categoryId: optional(fc.constantFrom(-1n, 3n, 2n ** 62n)),
  species: optional(fc.constantFrom('DOG', 'Cat', 'zolw', 'do')),
  breed: optional(fc.constantFrom('boxer', 'epagneul', 'mix')),
  sex: optional(fc.constantFrom(...sexes)),
  size: optional(fc.constantFrom(...sizes)),
  ageGroup: optional(fc.constantFrom(...ageGroups)),
  goodWith: optional(fc.array(fc.constantFrom(...companions), { maxLength: 2 })),
  specialNeeds: optional(fc.constantFrom('true' as const, 'false' as const)),
  q: optional(text),
  listed: optional(fc.constantFrom('true' as const, 'false' as const, 'any' as const)),
  isStaff: fc.constantFrom(true, undefined),
})

let database: Database
let env: Awaited<ReturnType<typeof newDatabase>>
let animals: PetWithProfile[]
before(async () => {
  env = await newDatabase()
  database = await openTestDatabase(env, now)
  const samples = fc.sample(
    fc.tuple(profile, text, fc.constantFrom(-1n, 3n, 2n ** 62n), fc.constantFrom(...petStatuses)),
    {
      numRuns: animalCount,
      seed: 27,
    },
  )
  for (const [each, name, categoryId, status] of samples)
    await database.write(async (trx) => {
      const pet = await createPet(trx, { name: name.trim() || 'Luna', categoryId, status }, now)
      await saveProfile(trx, pet.id, each)
      await recordProfileUpdates(trx, [pet.id], now)
    })
  const through = await database.allReadableThrough()
  while (await needsIndexing(database.read, through))
    await database.write((trx) => indexStep(trx, through, () => now))
  const ids = (await database.read.selectFrom('pets').select('id').execute()).map(({ id }) => id)
  animals = (await findPetsWithProfiles(database.read, ids)).sort((a, b) => b.pet.id - a.pet.id)
})
after(async () => {
  await database.close()
  await removeDatabase(env)
})

test(`${queryCount} random queries find what a comparison of every animal finds`, async () => {
  const indexed = animals.map((animal) => ({ animal, terms: termsOf(animal.pet, animal.profile) }))
  let foundCount = 0
  let foundByWordsCount = 0
  let wordlessCount = 0
  for (const each of fc.sample(filter, { numRuns: queryCount, seed: 270 })) {
    const status = each.status ?? (each.isStaff ? petStatuses : (['available', 'pending'] as const))
    const conditions = conditionsOf({ ...each, status }, now)
    const expected = indexed
      .filter(({ animal, terms }) => meets(terms, conditions) && hasAge(animal.profile, each, now))
      .map(({ animal }) => animal.pet.id)
      .slice(0, limit)
    const isWordless = each.q !== undefined && wordsOf(each.q).next().done
    if (isWordless) assert.deepEqual(expected, [], `"${each.q}"`)
    const { animals: found } = await findListings(database.read, limit, undefined, each, now)
    assert.deepEqual(
      found.map(({ pet }) => pet.id),
      expected,
      JSON.stringify(each, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    )
    foundCount += Number(expected.length > 0)
    foundByWordsCount += Number(expected.length > 0 && each.q !== undefined)
    wordlessCount += Number(isWordless)
  }
  assert.ok(foundCount > queryCount / 20, `only ${foundCount} queries found something`)
  assert.ok(foundByWordsCount > queryCount / 50, `only ${foundByWordsCount} searches found something`)
  assert.ok(wordlessCount > queryCount / 50, `only ${wordlessCount} searches had no words`)
})
