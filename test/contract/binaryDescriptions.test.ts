import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openApiDocument } from '../../src/openapi/document.ts'
import { operations } from '../support/additionalOperations.ts'
import { codesOf, type Node, operationsOf, resolve, root } from '../support/openapi.ts'

const document = openApiDocument({ operations }) as Node
const find = (id: string): Node => {
  const found = operationsOf(document).find(({ operation }) => operation.operationId === id)
  assert.ok(found, `There is no ${id}.`)
  return found.operation
}
const binary = { schema: { type: 'string', format: 'binary' } }

describe('the OpenAPI document', () => {
  test('describes a raw request body: its types, its limit and its errors', () => {
    const operation = find('addPicture')
    assert.deepEqual(operation.requestBody, {
      required: true,
      description: 'At most 1 MiB.',
      content: { 'image/webp': binary, 'image/png': binary },
    })
    for (const [status, code] of [
      ['413', 'body_too_large'],
      ['415', 'unsupported_media_type'],
      ['503', 'unavailable'],
    ] as const)
      assert.ok(codesOf(document, operation, status).includes(code), code)
    assert.equal(codesOf(document, operation, '400').includes('malformed_json'), false)
    const { headers } = resolve(document, operation.responses['415'])
    assert.equal('Idempotent-Replayed' in headers, false, 'it is rejected before the body is read')
  })

  test('describes a binary response', () => {
    const response = resolve(document, find('getPicture').responses['200'])
    assert.deepEqual(response.content, { 'image/webp': binary, 'image/png': binary })
    assert.ok('ETag' in response.headers)
  })

  test('has Location where an operation declares it', () => {
    const { headers } = resolve(document, find('addPicture').responses['201'])
    assert.ok('Location' in headers)
  })
})

test('the generated types have bytes for raw bodies and binary responses', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-types-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of ['tools', 'client/src', 'console/src/api'])
    mkdirSync(join(folder, path), { recursive: true })
  cpSync(join(root, 'tools/apiTypes.ts'), join(folder, 'tools/apiTypes.ts'))
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
  execFileSync(process.execPath, [join(folder, 'tools/apiTypes.ts')])
  const types = readFileSync(join(folder, 'client/src/schema.ts'), 'utf8')
  assert.match(
    types,
    /addPicture: \{[^}]*\}[^}]*body: Blob \| ArrayBuffer \| Uint8Array\n {2}response: Picture\n/,
  )
  assert.match(types, /getPicture: \{[^}]*\}[^}]*body: undefined\n {2}response: Blob\n/)
  assert.match(types, /addPicture: \["POST","\/test\/pets\/\{petId\}\/pictures"\],/)
  assert.match(types, /getPicture: \["GET","\/test\/pictures\/\{name\}","image\/webp","image\/png"\],/)
})
