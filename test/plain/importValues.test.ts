import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type ImportField, importFields } from '../../src/imports/fields.ts'
import { parseAge, parseDate } from '../../src/imports/values/dates.ts'
import { htmlToText } from '../../src/imports/values/html.ts'
import { readerOf } from '../../src/imports/values/readers.ts'
import { stem } from '../../src/imports/values/simplify.ts'
import { type ReadContext, ValueError } from '../../src/imports/values/values.ts'
import { today } from '../support/importedAnimals.ts'

const read = (field: ImportField, text: string, context: Partial<ReadContext> = {}) =>
  readerOf(field, 'Heading')(text, { now: today, ...context })
const profileOf = (field: ImportField, text: string, context: Partial<ReadContext> = {}) =>
  read(field, text, context)?.profile

describe('a cell is read as people write it', () => {
  const scenarios: [field: ImportField, values: [text: string, profile: object | undefined][]][] = [
    [
      'altered',
      [
        ['Yes', { altered: true }],
        ['y', { altered: true }],
        ['TRUE', { altered: true }],
        ['1', { altered: true }],
        ['x', { altered: true }],
        ['✓', { altered: true }],
        ['Spayed', { altered: true }],
        ['no', { altered: false }],
        ['0', { altered: false }],
        ['intact', { altered: false }],
        ['Unknown', undefined],
        ['N/A', undefined],
        ['-', undefined],
        ['?', undefined],
      ],
    ],
    [
      'sex',
      [
        ['M', { sex: 'male' }],
        ['female', { sex: 'female' }],
        ['Neutered Male', { sex: 'male', altered: true }],
        ['Female (spayed)', { sex: 'female', altered: true }],
        ['F/S', { sex: 'female', altered: true }],
        ['intact male', { sex: 'male', altered: false }],
        ['unknown', undefined],
      ],
    ],
    [
      'goodWith.children',
      [
        ['Yes', { goodWith: { children: 'yes' } }],
        ['n', { goodWith: { children: 'no' } }],
        ['Selective', { goodWith: { children: 'selective' } }],
        ['Over 5', { goodWith: { children: 'selective' }, minChildAge: 5 }],
        ['12+', { goodWith: { children: 'selective' }, minChildAge: 12 }],
        ['8 and up', { goodWith: { children: 'selective' }, minChildAge: 8 }],
        ['not tested', undefined],
      ],
    ],
    [
      'size',
      [
        ['XL', { size: 'xlarge' }],
        ['X-Large', { size: 'xlarge' }],
        ['med.', { size: 'medium' }],
      ],
    ],
    [
      'coat',
      [
        ['Short hair', { coat: 'short' }],
        ['WIRY', { coat: 'wire' }],
      ],
    ],
    [
      'ageGroup',
      [
        ['Senior', { ageGroup: 'senior' }],
        ['Puppy', { ageGroup: 'baby' }],
      ],
    ],
    [
      'species',
      [
        ['Dogs', { species: 'dog' }],
        ['Feline', { species: 'cat' }],
        ['Axolotl', { species: 'Axolotl' }],
      ],
    ],
    [
      'breeds',
      [
        ['Labrador / Poodle', { breeds: ['Labrador / Poodle'] }],
        ['unknown', undefined],
      ],
    ],
    ['minChildAge', [['6 years', { minChildAge: 6 }]]],
    ['attributes.Weight', [['12 kg', { attributes: { Weight: '12 kg' } }]]],
    ['attributes', [['12 kg', { attributes: { Heading: '12 kg' } }]]],
    ['listed', [['no', { listed: false }]]],
  ]
  for (const [field, values] of scenarios)
    test(field, () => {
      for (const [text, profile] of values) assert.deepEqual(profileOf(field, text), profile, text)
    })

  test('status', () => {
    for (const [status, words] of Object.entries({
      available: ['Available', 'ADOPTABLE', 'available for adoption'],
      pending: ['pending', 'On Hold', 'on-hold', 'Reserved', 'Adoption pending'],
      sold: ['Sold', 'adopted', 'Rehomed'],
    }))
      for (const word of words) assert.deepEqual(read('status', word), { status }, word)
  })

  test('fee', () => {
    const feeOf = (text: string, currency?: string) => profileOf('fee', text, { currency })?.fee
    const euros = (amount: number) => ({ amount, currency: 'EUR' })
    assert.deepEqual(feeOf('150', 'EUR'), euros(15_000))
    assert.deepEqual(feeOf('€ 150,50'), euros(15_050))
    assert.deepEqual(feeOf('1.250,00 EUR'), euros(125_000))
    assert.deepEqual(feeOf('1,250.5', 'EUR'), euros(125_050))
    assert.deepEqual(feeOf('$75', 'CAD'), { amount: 7_500, currency: 'CAD' })
    assert.deepEqual(feeOf('9000 JPY'), { amount: 9_000, currency: 'JPY' })
    assert.deepEqual(feeOf('Free', 'EUR'), euros(0))
    assert.throws(() => feeOf('$75'), /currency/)
    assert.throws(() => feeOf('75 XYZ'), /ISO 4217/)
    assert.throws(() => feeOf('ask us', 'EUR'), /an amount/)
  })

  test('photos', () => {
    const photosOf = (text: string) => read('photos', text)?.photos
    assert.deepEqual(photosOf('https://a.example/1.jpg, https://a.example/2.jpg'), [
      'https://a.example/1.jpg',
      'https://a.example/2.jpg',
    ])
    assert.deepEqual(photosOf('my dog.jpg; second.png'), ['my dog.jpg', 'second.png'])
    assert.deepEqual(photosOf('data:image/jpg;base64,AAAA'), ['data:image/jpg;base64,AAAA'])
  })
})

describe('a wrong cell says what was expected', () => {
  for (const [field, text, message] of [
    ['sex', 'maybe', /^must be male, female or unknown$/],
    ['status', 'Fostered', /^must be available, pending, sold, or a word for one of these/],
    ['altered', 'partly', /^must be yes or no$/],
    ['birthDate', '31.02.2020', /^must be a date such as 2026-01-31, unless the date order .* is given$/],
    ['birthDate', 'soon', /^must be a date such as 2026-01-31$/],
    ['birthDate', '2027-01-01', /^must not be in the future$/],
    ['age', 'ancient history', /^must be an age such as 2 years/],
    ['breeds', 'x'.repeat(81), /^must be 1 to 80 characters/],
    ['description', 'x'.repeat(20_001), /^must have at most 20000 characters$/],
    ['videoUrl', 'http://a.example', /^must be an https address$/],
    ['microchip', '9.85112E+14', /^must have all its digits/],
    ['externalId', '9,85112E+14', /^must have all its digits/],
    ['id', 'A-12', /^must be an integer/],
    ['categoryId', '9223372036854775808', /^must be the name of a category/],
    ['attributes.__proto__', 'x', /__proto__/],
  ] as const)
    test(`${field}: ${text.slice(0, 20)}`, () => {
      assert.throws(
        () => read(field, text),
        (error) => {
          assert.ok(error instanceof ValueError)
          assert.match(error.message, message)
          return true
        },
      )
    })
})

describe('a date', () => {
  const scenarios: [text: string, order: 'dmy' | 'mdy' | 'ymd' | undefined, date: string | undefined][] = [
    ['2024-05-01', undefined, '2024-05-01'],
    ['2024/5/1', 'dmy', '2024-05-01'],
    ['2024-05-01T00:00:00Z', undefined, '2024-05-01'],
    ['5/1/2024 12:00:00 AM', 'mdy', '2024-05-01'],
    ['5/1/2024', undefined, undefined],
    ['5/1/2024', 'dmy', '2024-01-05'],
    ['1.5.24', 'dmy', '2024-05-01'],
    ['1-5-99', 'dmy', '1999-05-01'],
    ['24-05-01', 'ymd', '2024-05-01'],
    ['13/13/2024', 'dmy', undefined],
    ['29.02.2023', 'dmy', undefined],
    ['1 May 2024', undefined, '2024-05-01'],
    ['May 1st, 2024', undefined, '2024-05-01'],
    ['01-Sept-24', undefined, '2024-09-01'],
    ['1 Marble 2024', undefined, undefined],
    ['45123', undefined, undefined],
    ['0000-01-01', undefined, undefined],
  ]
  for (const [text, order, date] of scenarios)
    test(`${text} ${order ?? ''}`, () => assert.equal(parseDate(text, order, today), date))

  test('of a month or a year is approximate', () => {
    const birthOf = (text: string) => read('birthDate', text)?.approximateBirth
    assert.deepEqual(birthOf('2020'), { date: '2020-07-01', toleranceDays: 380 })
    assert.deepEqual(birthOf('05/2021'), { date: '2021-05-15', toleranceDays: 45 })
    assert.deepEqual(birthOf('March 2021'), { date: '2021-03-15', toleranceDays: 45 })
  })
})

describe('an age is an approximate birth date', () => {
  for (const [text, date] of [
    ['2Y/ 4M/ 26D', '2024-06-23'],
    ['0Y/ 0M/ 5D', '2026-11-13'],
    ['2 years', '2024-11-18'],
    ['2 yrs, 3 mos', '2024-08-18'],
    ['about 3 years old', '2023-11-18'],
    ['8 weeks', '2026-09-23'],
    ['1-2 years', '2025-05-18'],
    ['10+ years', '2016-11-18'],
    ['2.5', '2024-05-18'],
    ['6 mo', '2026-05-18'],
    ['300 years', undefined],
    ['1e99 years', undefined],
    ['two years', undefined],
    ['', undefined],
  ] as const)
    test(text, () => assert.equal(parseAge(text, today)?.date, date))
})

test('the plural of a kind is the same kind', () => {
  for (const [one, many] of [
    ['dog', 'Dogs'],
    ['Guinea pig', 'guinea-pigs'],
    ['Puppy', 'PUPPIES'],
    ['tortoise', 'Tortoises'],
    ['fish', 'fishes'],
    ['mouse', 'Mice'],
    ['horse', 'horses'],
    ['Fox', 'foxes'],
  ] as const)
    assert.equal(stem(one), stem(many), many)
  assert.notEqual(stem('cat'), stem('cattle'))
})

test('HTML becomes text', () => {
  const html =
    '<p>Luna is <b>friendly</b> &amp; smart.</p>\r\n<p>She&#39;s 5 &lt; 6&#10;years.<br/>Ask us!</p>'
  assert.equal(htmlToText(html), "Luna is friendly & smart.\n\nShe's 5 < 6\nyears.\nAsk us!")
  assert.equal(htmlToText('a < b > c &unknown; &#0; &#xD800;'), 'a < b > c &unknown; &#0; &#xD800;')
})

test('no text makes a reader fail in another way, or take long', () => {
  const pieces = fc.constantFrom(
    ...'0123456789/-., ~+()<>&#;|=\n\u0000é🐾',
    'years',
    'over',
    'May',
    'e',
    'EUR',
    '€',
  )
  const text = fc.oneof(
    fc.string({ unit: pieces, maxLength: 30 }),
    fc.string({ unit: 'binary', maxLength: 30 }),
  )
  const property = fc.property(
    fc.constantFrom(...importFields),
    text,
    fc.constantFrom('dmy', 'mdy', 'ymd', undefined),
    (field, value, dateOrder) => {
      try {
        read(field, value, { dateOrder, currency: 'EUR' })
      } catch (error) {
        if (!(error instanceof ValueError)) throw error
      }
    },
  )
  fc.assert(property, { numRuns: 5_000 })
  // A reader whose time grows with the square of the length would take minutes.
  for (const field of importFields)
    for (const unit of ['1 ', ' ', '<', '(', '1/', 'a,', '9'])
      try {
        read(field, unit.repeat(200_000))
      } catch (error) {
        if (!(error instanceof ValueError)) throw error
      }
  for (const unit of ['<', '<a', '&', '&#', '\n'])
    assert.equal(typeof htmlToText(unit.repeat(200_000)), 'string')
})
