import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import {
  apiKeyProblem,
  environmentOf,
  generateApiKey,
  hashApiKey,
  isPossibleApiKey,
  isWellFormedApiKey,
  redactor,
} from '../../src/auth/apiKey.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const environments = ['production', 'staging'] as const

for (const environment of environments) {
  test(`a key of ${environment} has the documented form and is well-formed`, () => {
    const prefix = { production: 'ps_live_', staging: 'ps_test_' }[environment]
    for (let i = 0; i < 200; i++) {
      const key = generateApiKey(environment)
      assert.match(key, new RegExp(`^${prefix}[0-9A-Za-z]{36}$`))
      assert.ok(isWellFormedApiKey(key))
      assert.ok(isPossibleApiKey(key))
      assert.equal(environmentOf(key), environment)
      assert.equal(apiKeyProblem(key, environment), undefined)
    }
  })
}

test('the last six characters are the CRC32 of the rest, in base62', () => {
  for (let i = 0; i < 200; i++) {
    const key = generateApiKey('production')
    let value = 0
    for (const digit of key.slice(-6)) value = value * 62 + base62.indexOf(digit)
    assert.equal(value, crc32(key.slice(0, -6)))
  }
})

test('keys are unique and use every character of the alphabet', () => {
  const keys = Array.from({ length: 1_000 }, () => generateApiKey('production'))
  assert.equal(new Set(keys).size, keys.length)
  assert.equal(new Set(keys.map((key) => key.slice(8, 38)).join('')).size, 62)
})

test('a key with one changed character is not well-formed', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...environments).map((environment) => generateApiKey(environment)),
      fc.integer({ min: 0, max: 43 }),
      fc.oneof(fc.constantFrom(...base62), fc.string({ minLength: 1, maxLength: 1 })),
      (key, position, character) => {
        fc.pre(key[position] !== character)
        assert.equal(isWellFormedApiKey(key.slice(0, position) + character + key.slice(position + 1)), false)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('a key with two characters swapped, one removed or one added is not well-formed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 42 }), fc.constantFrom(...base62), (position, character) => {
      const key = generateApiKey('production')
      const [left, right] = [key[position] as string, key[position + 1] as string]
      const swapped = key.slice(0, position) + right + left + key.slice(position + 2)
      assert.equal(isWellFormedApiKey(swapped), left === right)
      assert.equal(isWellFormedApiKey(key.slice(0, position) + key.slice(position + 1)), false)
      assert.equal(isWellFormedApiKey(key.slice(0, position) + character + key.slice(position)), false)
    }),
    { numRuns: 500 },
  )
})

test('no other text is a well-formed key', () => {
  fc.assert(fc.property(fc.string(), (text) => assert.equal(isWellFormedApiKey(text), false)))
  for (const text of ['', 'ps_live_', `ps_live_${'0'.repeat(36)}`, `${generateApiKey('production')}\n`]) {
    assert.equal(isWellFormedApiKey(text), false)
  }
})

test('the hash of a key is its SHA-256', () => {
  const key = generateApiKey('staging')
  assert.equal(hashApiKey(key), createHash('sha256').update(key).digest('hex'))
})

test('a key chosen by the operator is checked if it has the prefix of a generated key', () => {
  const key = generateApiKey('production')
  assert.equal(apiKeyProblem('a-secret-of-my-own-choice', 'production'), undefined)
  assert.match(apiKeyProblem(`${key}x`, 'production') ?? '', /checksum/)
  assert.match(apiKeyProblem(key, 'staging') ?? '', /other environment/)
})

test('a key chosen by the operator and a percent-encoded key are redacted', () => {
  const redact = redactor('a-secret-of-my-own-choice')
  const key = generateApiKey('production')
  assert.equal(redact('/v1/pets/a-secret-of-my-own-choice'), '/v1/pets/[redacted]')
  assert.equal(redact('/v1/pets/a%2Dsecret-of-my-own-choice'), '/v1/pets/[redacted]')
  assert.equal(redact(`/v1/pets/${key.replace('_', '%5F')}`), '/v1/pets/ps_live_[redacted]')
  assert.equal(redact('/v1/pets/%41%ff'), '/v1/pets/%41%ff')
})

test('every key in a text is redacted, and the rest stays', () => {
  const plainText = fc.string().filter((text) => !text.includes('%'))
  fc.assert(
    fc.property(
      fc.array(fc.tuple(plainText, fc.constantFrom(...environments)), { minLength: 1, maxLength: 4 }),
      plainText,
      (parts, end) => {
        // A space separates each key from the text after it.
        const pieces = parts.map(([text, environment]) => ({ text, key: generateApiKey(environment) }))
        const whole = pieces.map(({ text, key }) => `${text} ${key} `).join('') + end
        const redacted = redactor(undefined)(whole)
        for (const { key } of pieces) assert.ok(!redacted.includes(key.slice(8)))
        assert.equal(
          redacted,
          pieces.map(({ text, key }) => `${text} ${key.slice(0, 8)}[redacted] `).join('') + end,
        )
      },
    ),
  )
})

test('a valid checksum does not make a longer text a key', () => {
  const checked = (body: string) => {
    let [rest, digits] = [crc32(body), '']
    for (let i = 0; i < 6; i++) [digits, rest] = [base62.charAt(rest % 62) + digits, Math.floor(rest / 62)]
    return body + digits
  }
  const body = `ps_live_${'a'.repeat(30)}`
  assert.ok(isWellFormedApiKey(checked(body)))
  for (const longer of [`x${body}`, `${body}a`]) assert.ok(!isWellFormedApiKey(checked(longer)), longer)
})

test('a part of a key, and a text as long as its secret part, are redacted', () => {
  const redact = redactor(undefined)
  assert.equal(redact('key ps_test_a1 sent'), 'key ps_test_[redacted] sent')
  assert.equal(redact(`key ${'a1'.repeat(18)} sent`), 'key [redacted] sent')
  assert.equal(redact('undefined'), 'undefined')
})
