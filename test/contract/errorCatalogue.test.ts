import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { errorCatalogue } from '../support/errorCatalogue.ts'
import { codesOf, type Node, operationsOf, readDocument, resolve, root } from '../support/openapi.ts'
import { assertSameNames } from '../support/sameNames.ts'
import { sources } from '../support/sources.ts'

/** Errors that are returned where there is no operation to declare them. */
const codesWithoutOperation = ['not_found', 'method_not_allowed']

const document = readDocument('openapi.json')
const statuses = Object.fromEntries([...errorCatalogue].map(([code, { status }]) => [code, status]))
const released = readdirSync(`${root}docs/openapi`).map((file) => readDocument(`docs/openapi/${file}`))

/** The codes that each operation declares, by its id. */
const declared = new Map(
  operationsOf(document).map(({ operation }) => {
    const codes = Object.keys(operation.responses).flatMap((status) => codesOf(document, operation, status))
    return [operation.operationId as string, codes]
  }),
)

const thrownIn = (text: string) =>
  [...text.matchAll(/(?<!\/)\b\w+Errors\.([a-z_]+)\b(?!\()/g)].map((match) => String(match[1]))
const operationsIn = (text: string) =>
  [...text.matchAll(/\bdefineOperation\(\s*'(\w+)'/g)]
    .map((match) => String(match[1]))
    .filter((id) => declared.has(id))

describe('the error codes', () => {
  test('of a release keep their statuses', () => {
    assert.ok(released.length > 0)
    for (const { components } of released) {
      for (const code of components.schemas.KnownErrorCode.enum) {
        assert.ok(code in statuses, `${code} was released and is not defined.`)
        const example = components.examples[code]
        if (example) assert.equal(statuses[code], example.value.status, code)
        else assert.ok(codesWithoutOperation.includes(code), `${code} has no example.`)
      }
    }
  })

  test('are those of the Error in OpenAPI', () => {
    const { enum: described } = document.components.schemas.KnownErrorCode
    assertSameNames('The enum KnownErrorCode in openapi.json', described, errorCatalogue.keys())
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
    const shown = ([code, status]: readonly [string, number]) => `${code} (${status})`
    assertSameNames(
      'The table of docs/guides/errors.md',
      documented.map(shown),
      Object.entries(statuses).map(shown),
    )
  })

  test('have a default message', () => {
    for (const [code, { message }] of errorCatalogue) assert.match(message, /^[A-Z].*\.$/, code)
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
          // A request that is too slow has the status that HTTP has for it.
          const isTimeout = status === '408' && code === 'validation_failed'
          if (!isTimeout)
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
      for (const [definition] of text.matchAll(
        /^( *)(?:(?:export )?const .* = )?defineOperation\([\s\S]*?^\1\}?\)/gm,
      )) {
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
