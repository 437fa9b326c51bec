import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { conditionsOf, meets, toFts5Query, toTsquery } from '../../src/listings/query.ts'
import { termsOf } from '../../src/listings/terms.ts'
import { fold, wordsOf } from '../../src/listings/words.ts'
import { petStatuses } from '../../src/pets/pet.ts'
import { ageGroupAt, ageGroups, emptyProfile } from '../../src/profiles/profile.ts'

const words = (text: string) => [...wordsOf(text)].map(({ word }) => word)
const now = Date.UTC(2026, 10, 17)
const pet = { name: 'Luna', categoryId: 3n, status: 'available' } as const
const anyText = fc.string({ unit: 'binary', maxLength: 60 })

describe('words', () => {
  test('ignore case, accents, width and apostrophes, and keep marks that are vowels', () => {
    for (const [text, expected] of [
      ['Zoë', ['zoe']],
      ['STRASSE Straße', ['strasse', 'strasse']],
      ["Don't O’Neill", ['dont', 'oneill']],
      ['Łódź Ærø İstanbul ısı', ['lodz', 'aero', 'istanbul', 'isi']],
      ['ΣΟΦΟΣ σοφος', ['σοφοσ', 'σοφοσ']],
      ['हिन्दी', ['हिन्दी']],
      ['שָׁלוֹם مُحَمَّد', ['שלום', 'محمد']],
      ['日本語 犬', ['日本', '本語', '犬']],
      ['ｶﾀｶﾅ', ['カタ', 'タカ', 'カナ']],
      ['a-b_c.d', ['a', 'b', 'c', 'd']],
    ] as const)
      assert.deepEqual(words(text), expected, text)
  })

  test('are the same when text is folded twice', () => {
    fc.assert(fc.property(anyText, (text) => assert.deepEqual(words(fold(text)), words(text))))
  })
})

describe('terms', () => {
  test('need no quotes in either query language, for any text', () => {
    fc.assert(
      fc.property(
        anyText,
        anyText,
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        (text, breed, categoryId) => {
          const profile = { ...emptyProfile, species: text, breeds: [breed], description: text }
          for (const term of termsOf({ ...pet, name: text, categoryId }, profile))
            assert.match(term, /^(on_offer|[a-z]{1,3}_[\p{L}\p{N}\p{M}]+)$/u)
          conditionsOf({ q: text, species: text, breed, categoryId }, now)
        },
      ),
    )
  })

  test('of an animal are found by each of its own words', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const terms = termsOf({ ...pet, name: text }, emptyProfile)
        for (const { word } of wordsOf(text)) assert.ok(meets(terms, conditionsOf({ q: word }, now)), word)
      }),
    )
  })

  test('of the birth date find the age group at any time', () => {
    const date = fc.date({ min: new Date('1960-01-01'), max: new Date('2026-11-17'), noInvalidDate: true })
    const time = fc.integer({ min: Date.UTC(2026, 10, 18), max: Date.UTC(2060, 0, 1) })
    fc.assert(
      fc.property(date, time, (born, at) => {
        const profile = { ...emptyProfile, birthDate: born.toISOString().slice(0, 10) }
        const group = ageGroupAt(profile, at)
        const terms = termsOf(pet, profile)
        for (const ageGroup of ageGroups)
          if (ageGroup === group) assert.ok(meets(terms, conditionsOf({ ageGroup }, at)), ageGroup)
      }),
    )
  })
})

test('conditions are written in both query languages', () => {
  const conditions = conditionsOf({ sex: 'female', q: 'black lab' }, now)
  assert.equal(toFts5Query(conditions), '(on_offer) AND (sx_female) AND (w_black) AND (w_lab *)')
  assert.equal(toTsquery(conditions), "('on_offer') & ('sx_female') & ('w_black') & ('w_lab':*)")
  const number = conditionsOf({ listed: 'any', status: petStatuses, q: 'ht-104' }, now)
  assert.equal(toFts5Query(number), '(w_ht OR w_ht104 *) AND (w_104 * OR w_ht104 *)')
  assert.equal(toTsquery(number), "('w_ht' | 'w_ht104':*) & ('w_104':* | 'w_ht104':*)")
})
