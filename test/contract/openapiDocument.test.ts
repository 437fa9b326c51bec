import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { formatDocument, openApiDocument } from '../../src/openapi/document.ts'
import { createOperations } from '../../src/operations.ts'

test('the committed openapi.json is up to date', () => {
  const config = readConfig({})
  const operations = createOperations({ config } as Parameters<typeof createOperations>[0])
  assert.equal(
    readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'),
    `${formatDocument(openApiDocument({ operations, ...config }))}\n`,
    'Run `npm run openapi` and commit the result.',
  )
})
