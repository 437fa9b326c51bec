import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { toYaml } from '../../src/openapi/yaml.ts'
import { readDocument } from '../support/openapi.ts'
import { runPetstore } from '../support/process.ts'
import { startTestService } from '../support/service.ts'

const versions = ['1.1', '1.2'] as const

describe('YAML 1.1 and 1.2 parsers read the same values', () => {
  const scalars = [
    ...['2026-11-15T12:00:00.000Z', '2026-11-15t12:00:00z', '2026-11-15 12:00:00', '2026-11-15', '12:30:00'],
    ...['190:20:30', '190:20:30.15', '12:30', 'yes', 'No', 'ON', 'off', 'y', 'N', 'true', 'null', '~', ''],
    ...['007', '0o14', '014', '0x1F', '0b101', '1_000', '1e3', '1.5e3', '1.', '.5', '+1', '-0', '685.230_15'],
    ...[
      '.inf',
      '-.Inf',
      '.NaN',
      '<<',
      '=',
      '- x',
      '# x',
      'x: y',
      ' x ',
      'two\nlines\n',
      '!!str x',
      '*x',
      '&x',
    ],
    ...['9223372036854775807', '%', '@x', '`x`', '"x"', "it's", '\u0085', '\u2028', '\t', '☃', '🐾'],
  ]
  const values = { asValues: scalars, asNames: Object.fromEntries(scalars.map((scalar) => [scalar, scalar])) }
  for (const version of versions) {
    for (const scalar of scalars) {
      test(`${JSON.stringify(scalar)} by ${version}`, () => {
        assert.equal(parse(toYaml({ scalar }), { version }).scalar, scalar)
        assert.deepEqual(Object.keys(parse(toYaml({ [scalar]: 1 }), { version, merge: false })), [scalar])
      })
    }

    test(`all of them together by ${version}`, () => {
      assert.deepEqual(parse(toYaml(values), { version, merge: false }), values)
    })

    test(`any JSON by ${version}`, () => {
      const words = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(...scalars))
      const anything = fc.letrec((tie) => ({
        value: fc.oneof(
          { maxDepth: 3 },
          ...[words, fc.boolean(), fc.constant(null), fc.integer()],
          fc.array(tie('value'), { maxLength: 4 }),
          fc.dictionary(words, tie('value'), { maxKeys: 4, noNullPrototype: true }),
        ),
      })).value
      fc.assert(
        fc.property(anything, (value) => {
          const json = JSON.parse(JSON.stringify({ value }))
          assert.deepEqual(parse(toYaml(json), { version, merge: false }), json)
        }),
      )
    })
  }

  test('times are quoted', () => {
    assert.equal(toYaml({ at: '2026-11-15T12:00:00.000Z' }), 'at: "2026-11-15T12:00:00.000Z"\n')
  })
})

describe('the OpenAPI document as YAML equals the JSON', () => {
  const document = readDocument('openapi.json')

  test('as it is served', async () => {
    const service = await startTestService()
    try {
      const { text } = await service.request('GET', '/v1/openapi.yaml')
      for (const version of versions) assert.deepEqual(parse(text, { version }), document, version)
    } finally {
      await service.stop()
    }
  })

  test('as "petstore openapi --yaml" prints it', async () => {
    const { stdout, code } = await runPetstore(['openapi', '--yaml'])
    assert.equal(code, 0)
    for (const version of versions) assert.deepEqual(parse(stdout, { version }), document, version)
  })
})
