import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { errorCatalogue } from '../../src/api/errors.ts'
import { codesOf, type Node, operationsOf, readDocument, resolve, root } from '../support/openapi.ts'
import { sources } from '../support/sources.ts'

/** All codes of v1. */
const expected: Record<number, readonly string[]> = {
  400: ['malformed_json', 'validation_failed', 'invalid_cursor'],
  401: ['missing_api_key', 'invalid_api_key'],
  403: ['insufficient_scope', 'origin_not_allowed'],
  404: [
    'not_found',
    'pet_not_found',
    'category_not_found',
    'order_not_found',
    'key_not_found',
    'webhook_not_found',
  ],
  405: ['method_not_allowed'],
  409: [
    'pet_unavailable',
    'pet_has_open_order',
    'illegal_transition',
    'category_in_use',
    'idempotency_in_progress',
  ],
  410: ['operation_removed', 'events_expired'],
  412: ['precondition_failed'],
  413: ['body_too_large'],
  415: ['unsupported_media_type'],
  422: ['idempotency_key_reused'],
  429: ['rate_limit_exceeded', 'key_banned', 'too_many_streams'],
  500: ['internal_error'],
  503: ['unavailable'],
}

/** Errors that are returned where there is no operation to declare them. */
const codesWithoutOperation = ['not_found', 'method_not_allowed']

const document = readDocument('openapi.json')
const statuses: Record<string, number> = Object.fromEntries(
  Object.entries(errorCatalogue).map(([code, { status }]) => [code, status]),
)

/** The codes that each operation declares, by its id. */
const declared = new Map(
  operationsOf(document).map(({ operation }) => {
    const codes = Object.keys(operation.responses).flatMap((status) => codesOf(document, operation, status))
    return [operation.operationId as string, codes]
  }),
)

const thrownIn = (text: string) =>
  [...text.matchAll(/(?:new ApiError\(|orNotFound\(.*,)\s*'(\w+)'/g)].map((match) => String(match[1]))
const operationsIn = (text: string) =>
  [...text.matchAll(/\bdefineOperation\('(\w+)'/g)]
    .map((match) => String(match[1]))
    .filter((id) => declared.has(id))

describe('the error codes', () => {
  test('are those of the interface, with its statuses', () => {
    const wanted = Object.entries(expected).flatMap(([status, codes]) =>
      codes.map((code) => [code, Number(status)] as const),
    )
    assert.deepEqual(statuses, Object.fromEntries(wanted))
  })

  test('are those of the Error in OpenAPI', () => {
    assert.deepEqual(
      document.components.schemas.KnownErrorCode.enum.toSorted(),
      Object.keys(errorCatalogue).sort(),
    )
  })

  test('are those of the guide, with their statuses', () => {
    const guide = readFileSync(`${root}docs/guides/errors.md`, 'utf8')
    const rows = [...guide.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)]
    const tableRows = guide.split('\n').filter((line) => line.startsWith('| `'))
    assert.equal(rows.length, tableRows.length, 'Every row of the table begins with a code and a status.')
    const documented = rows.map(([, code, status]) => [String(code), Number(status)] as const)
    assert.equal(
      new Set(documented.map(([code]) => code)).size,
      documented.length,
      'No code is documented twice.',
    )
    assert.deepEqual(Object.fromEntries(documented), statuses)
  })

  test('have a default message', () => {
    for (const [code, { message }] of Object.entries(errorCatalogue))
      assert.match(message, /^[A-Z].*\.$/, code)
  })
})

describe('an operation', () => {
  test('declares only codes that exist, under their statuses', () => {
    for (const { operation } of operationsOf(document)) {
      for (const [status, node] of Object.entries(operation.responses as Node)) {
        const response = resolve(document, node)
        const codes = codesOf(document, operation, status)
        assert.equal(codes.length > 0, Number(status) >= 400, `${operation.operationId} ${status}`)
        for (const code of codes) {
          const { value } = resolve(document, response.content['application/json'].examples[code])
          assert.equal(statuses[code], Number(status), `${operation.operationId} ${status} ${code}`)
          assert.equal(value.code, code)
          assert.equal(value.status, Number(status))
        }
      }
    }
  })

  test('declares what its own handler throws', () => {
    let found = 0
    for (const { path, text } of sources) {
      // A definition ends where it is closed at the depth at which it began.
      for (const [definition] of text.matchAll(/^( *)defineOperation\('\w+', '.*', \{\n[\s\S]*?^\1\}\)/gm)) {
        const [id = ''] = operationsIn(definition)
        assert.ok(declared.has(id), `An operation in ${path} is not in OpenAPI.`)
        found += 1
        for (const code of thrownIn(definition)) {
          assert.ok(declared.get(id)?.includes(code), `${id} throws ${code}, which it does not declare.`)
        }
      }
    }
    assert.equal(found, declared.size)
  })

  test('declares what is thrown in its folder', () => {
    const everyCode = [...declared.values()].flat()
    for (const { path, folder, text } of sources) {
      const neighbours = sources
        .filter((source) => source.folder === folder)
        .flatMap((source) => operationsIn(source.text))
      // What is thrown where no operation lives may come from any of them.
      const known =
        neighbours.length > 0
          ? neighbours.flatMap((id) => declared.get(id) ?? [])
          : [...everyCode, ...codesWithoutOperation]
      for (const code of thrownIn(text))
        assert.ok(known.includes(code), `${path} throws ${code}, undeclared.`)
    }
  })
})
