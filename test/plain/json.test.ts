import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  int64Max,
  int64Min,
  JsonError,
  type JsonValue,
  nestingMax,
  parseInt64,
  parseJson,
  toJson,
} from '../../src/api/json.ts'

const runs = { numRuns: 2_000 }

/** A value that can be compared between parsers: numbers of JavaScript, objects as sorted entries. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Object.is(value, -0)) return 0
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [`key ${key}`, plain(item)])
}

function tryParse(parse: (text: string) => unknown, text: string): { value: unknown } | { error: unknown } {
  try {
    return { value: parse(text) }
  } catch (error) {
    return { error }
  }
}

const stringToken = /"(?:[^"\\]|\\.)*"(\s*:)?/g

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce((sum: number, item) => sum + keysIn(item), own)
}

function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const character of text.replace(stringToken, '')) {
    if (character === '[' || character === '{') deepest = Math.max(deepest, ++depth)
    if (character === ']' || character === '}') depth--
  }
  return deepest
}

/** Whether the service rejects a text that is JSON, decided independently of the parser. */
function isRejectedHere(text: string): boolean {
  const tokens = [...text.matchAll(stringToken)]
  const strings: string[] = tokens.map(([token]) => JSON.parse(token.replace(/\s*:$/, '')))
  const keys = tokens.filter(([, colon]) => colon !== undefined).length
  return (
    keys > keysIn(JSON.parse(text)) ||
    depthOf(text) > nestingMax ||
    strings.some((string) => !string.isWellFormed() || string.includes('\u0000'))
  )
}

/** Reads a text with both parsers: they agree, except for texts that the service rejects on purpose. */
function assertAgrees(text: string): void {
  const ours = tryParse(parseJson, text)
  const theirs = tryParse(JSON.parse, text)
  if ('error' in theirs || isRejectedHere(text)) {
    assert.ok('error' in ours, `parseJson takes ${JSON.stringify(text)}`)
    assert.ok(ours.error instanceof JsonError, String(ours.error))
  } else {
    assert.ok('value' in ours, `parseJson rejects ${JSON.stringify(text)}`)
    assert.deepEqual(plain(ours.value), plain(theirs.value))
  }
}

const document = fc.oneof(
  fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }),
  fc.record({ name: fc.string(), categoryId: fc.integer(), status: fc.constantFrom('available', null) }),
)
const documentText = fc
  .tuple(document, fc.constantFrom(undefined, 1, '\t', '\n '))
  .map(([value, space]) => JSON.stringify(value, null, space?.toString().replace(/[^\s]/g, ' ')))

test('every document is read as JSON.parse reads it', () => {
  fc.assert(fc.property(documentText, assertAgrees), runs)
})

const pieces = [
  ...'{}[]:,"\\/ \n\t\r\u0000\u001f-+.eE019truefalsn\u00a0\ufeff🐕',
  'null',
  '\\u0000',
  '\\ud800',
  '\\udc15',
  '\\x',
  '"a":1,',
  '"a"',
  '1e5',
  '//',
  '[[',
  'NaN',
  '-0',
]
const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  remove: fc.nat({ max: 3 }),
  insert: fc.constantFrom('', ...pieces),
})
const mutated = fc.tuple(documentText, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([text, edits]) =>
  edits
    .reduce((current, { at, remove, insert }) => {
      const start = Math.floor(at * current.length)
      return current.slice(0, start) + insert + current.slice(start + remove)
    }, text)
    // What arrives is UTF-8, and so well formed.
    .toWellFormed(),
)

test('every damaged document is accepted or rejected as by JSON.parse', () => {
  fc.assert(fc.property(mutated, assertAgrees), { numRuns: 10_000 })
})

test('every text of fragments of JSON is accepted or rejected as by JSON.parse', () => {
  const jsonFragments = fc
    .array(fc.constantFrom(...pieces), { maxLength: 12 })
    .map((parts) => parts.join('').toWellFormed())
  fc.assert(fc.property(jsonFragments, assertAgrees), { numRuns: 5_000 })
})

const int64 = fc.oneof(
  fc.bigInt({ min: int64Min, max: int64Max }),
  fc.bigInt({ min: -1000n, max: 1000n }),
  fc.constantFrom(int64Min, int64Min + 1n, int64Max, int64Max - 1n, 2n ** 53n + 1n, 0n),
)

/** The same number in the other spellings that JSON has. */
const numberTexts = fc
  .tuple(int64, fc.nat({ max: 25 }), fc.nat({ max: 25 }), fc.constantFrom('e', 'E'), fc.boolean())
  .map(([value, zeros, shift, e, isPointed]) => {
    const sign = value < 0n ? '-' : ''
    const digits = String(value).replace('-', '')
    if (!isPointed)
      return {
        value,
        text: `${sign}${digits}${value === 0n ? '' : '0'.repeat(shift)}${e}-${value === 0n ? 0 : shift}`,
      }
    const padded = digits.padStart(shift + 1, '0')
    const whole = padded.slice(0, padded.length - shift).replace(/^0+(?=\d)/, '')
    const fraction = padded.slice(padded.length - shift) + '0'.repeat(zeros)
    return { value, text: `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${e}+${shift}` }
  })

test('zeros before a number in a path or a query do not change it, but are no JSON', () => {
  for (const [text, value] of [
    ['007', 7n],
    ['-007', -7n],
    ['00', 0n],
    ['01e0', 1n],
    ['0000000000000000000000009223372036854775807', int64Max],
    [`${'0'.repeat(10_000)}1`, 1n],
  ] as const) {
    assert.equal(parseInt64(text), value)
    assert.throws(() => parseJson(text), JsonError)
  }
})

test('every int64 is read exactly, in any notation', () => {
  fc.assert(
    fc.property(int64, (value) => {
      assert.equal(parseJson(String(value)), value)
      assert.equal(parseInt64(String(value)), value)
    }),
    runs,
  )
  fc.assert(
    fc.property(numberTexts, ({ value, text }) => {
      assert.equal(parseJson(text), value)
      assert.equal(parseInt64(text), value)
      assert.deepEqual(parseJson(`{"id":${text}}`), Object.assign(Object.create(null), { id: value }))
    }),
    runs,
  )
})

const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 25n }).map(String)),
    fc.option(fc.array(fc.constantFrom(...'0123456789'), { minLength: 1, maxLength: 25 }), { nil: [] }),
    fc.option(fc.integer({ min: -40, max: 40 }), { nil: undefined }),
  )
  .map(([sign, whole, fraction, exponent]) => ({ sign, whole, fraction: fraction.join(''), exponent }))

test('a number is read as an int64 exactly if its value is one, by exact arithmetic', () => {
  fc.assert(
    fc.property(numberText, ({ sign, whole, fraction, exponent }) => {
      const text = `${sign}${whole}${fraction && `.${fraction}`}${exponent === undefined ? '' : `e${exponent}`}`
      const mantissa = BigInt(sign + whole + fraction)
      const power = (exponent ?? 0) - fraction.length
      const divisor = 10n ** BigInt(Math.max(0, -power))
      const value = (mantissa * 10n ** BigInt(Math.max(0, power))) / divisor
      const isInt64 =
        (mantissa * 10n ** BigInt(Math.max(0, power))) % divisor === 0n &&
        value >= int64Min &&
        value <= int64Max
      assert.equal(parseInt64(text), isInt64 ? value : undefined)
      const read = parseJson(text)
      assert.equal(read, isInt64 ? value : Number(text))
    }),
    { numRuns: 5_000 },
  )
})

const noInt64s = [
  '3.5',
  '9223372036854775808',
  '-9223372036854775809',
  '1e19',
  '1e-1',
  '1e400',
  '-1e400',
  '1e-400',
  `1e${'9'.repeat(400)}`,
  `1e-${'9'.repeat(400)}`,
]
for (const text of noInt64s) {
  test(`${text.slice(0, 30)} is a number, but no int64`, () => {
    assert.equal(typeof parseJson(text), 'number')
    assert.equal(parseInt64(text), undefined)
  })
}

test('a number of 60,000 digits is read exactly and without delay', () => {
  const zeros = '0'.repeat(60_000)
  assert.equal(parseJson(`7${zeros}e-60000`), 7n)
  assert.equal(parseJson(`7.${zeros}`), 7n)
  assert.equal(parseJson(`0.${zeros}7e60001`), 7n)
  assert.equal(typeof parseJson(`7${zeros}`), 'number')
})

for (const [where, numberOf] of [
  ['at the end', (zeros: string) => `7${zeros}e-${zeros.length}`],
  ['in the middle', (zeros: string) => `7${zeros}7e-${zeros.length}`],
  ['behind the point', (zeros: string) => `7.${zeros}7`],
  ['at the beginning of a fraction', (zeros: string) => `0.${zeros}7e${zeros.length + 1}`],
] as const) {
  test(`a number with a long row of zeros ${where} takes time in proportion to its length`, () => {
    const msFor = (length: number) => {
      const text = numberOf('0'.repeat(length))
      const rounds = Array.from({ length: 10 }, () => {
        const since = performance.now()
        parseJson(text)
        return performance.now() - since
      })
      return Math.min(...rounds)
    }
    const length = 10_000
    const times = msFor(4 * length) / msFor(length)
    // Four times the zeros: four times the time where it is linear, sixteen times where it is quadratic.
    assert.ok(times < 10, `four times as many took ${times.toFixed(1)} times as long`)
  })
}

for (const text of [
  '',
  ' ',
  '+3',
  '3.',
  '.3',
  '0x3',
  '3n',
  '1_000',
  '3e',
  '--3',
  'Infinity',
  '3\n',
  ' 3',
  '٣',
  '"3"',
]) {
  test(`${JSON.stringify(text)} in a path or a query is no int64`, () => {
    assert.equal(parseInt64(text), undefined)
  })
}

const rejections: [text: string, message: RegExp][] = [
  ['{"a":1,"a":2}', /line 1, column 8: the key "a" is given twice/],
  ['{"a":1,"\\u0061":2}', /given twice/],
  ['{"__proto__":1,"__proto__":2}', /given twice/],
  ['"\\ud800"', /surrogate/],
  ['"\\udc00\\ud800"', /surrogate/],
  ['{"\\ud800":1}', /surrogate/],
  ['"a\\u0000"', /NUL/],
  ['"a\u0000"', /must be escaped/],
  ['"\\u12"', /must be escaped/],
  [`{"${'🐕'.repeat(101)}":1,"${'🐕'.repeat(101)}":2}`, /the key "🐕{100}" is given twice/u],
  ['[\n1,\n  x]', /line 3, column 3: expected a value/],
  ['', /ends too early/],
  ['[1', /expected "," or "\]"/],
  ['{"a" 1}', /expected ":"/],
  ['{a:1}', /double quotes/],
  ['1 2', /expected nothing more/],
]
for (const [text, message] of rejections) {
  test(`${JSON.stringify(text)} is rejected, and the message states where and why`, () => {
    assert.throws(
      () => parseJson(text),
      (error: unknown) => error instanceof JsonError && message.test(error.message),
    )
  })
}

test('nesting is accepted up to its limit and rejected beyond it', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ] as const) {
    for (const bottom of ['1', '"x"', 'null']) {
      const nested = (levels: number) => open.repeat(levels) + bottom + close.repeat(levels)
      assert.doesNotThrow(() => parseJson(nested(nestingMax)))
      assert.throws(() => parseJson(nested(nestingMax + 1)), /nested deeper than 32/)
    }
  }
  assert.throws(() => parseJson('['.repeat(1_000_000)), JsonError)
})

test('keys that mean something to JavaScript are keys like any others', () => {
  const read = parseJson('{"__proto__":{"polluted":true},"constructor":1,"toString":2}') as Record<
    string,
    JsonValue
  >
  assert.deepEqual(Object.keys(read), ['__proto__', 'constructor', 'toString'])
  assert.equal(Object.getPrototypeOf(read), null)
  assert.equal('polluted' in {}, false)
})

test('long strings and long lists are read', () => {
  const text = 'x'.repeat(500_000)
  assert.equal(parseJson(`"${text}"`), text)
  assert.equal(parseJson(`"\\n${text}"`), `\n${text}`)
  const list = parseJson(`[${'1,'.repeat(200_000)}1]`) as JsonValue[]
  assert.equal(list.length, 200_001)
})

/** What the service has in its hands: int64s as bigints, other numbers as numbers. */
const { value: jsonValue } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    int64,
    fc
      .double({ noDefaultInfinity: true, noNaN: true })
      .filter((number) => parseInt64(String(number)) === undefined),
    fc.string({ unit: 'binary' }).filter((string) => !string.includes('\u0000')),
    fc.array(tie('value'), { maxLength: 5 }),
    fc
      .dictionary(fc.string(), tie('value'), { maxKeys: 5, noNullPrototype: false })
      .map((object) => Object.assign(Object.create(null), object) as { [key: string]: JsonValue }),
  ),
}))

test('what is written is read back the same, int64s exactly', () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const text = toJson(value)
      assert.deepEqual(parseJson(text), value)
      assert.equal(toJson(parseJson(text)), text)
      assert.doesNotThrow(() => JSON.parse(text))
    }),
    runs,
  )
})

test('bigints are written as plain numbers, and what is undefined is left out', () => {
  assert.equal(
    toJson({ id: int64Max, none: undefined, list: [int64Min, 0n] }),
    `{"id":${int64Max},"list":[${int64Min},0]}`,
  )
  assert.equal(toJson([undefined, null]), '[null,null]')
})
