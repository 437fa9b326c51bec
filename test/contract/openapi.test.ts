import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { createValidator, type Node, operationsOf, readDocument, resolve, root } from '../support/openapi.ts'
import { useService } from '../support/useService.ts'

const document = readDocument('openapi.json')
const problemsOf = createValidator(document)
const operations = operationsOf(document)
const find = (id: string): Node => {
  const found = operations.find(({ operation }) => operation.operationId === id)
  assert.ok(found, `There is no ${id}.`)
  return found
}

describe('the committed openapi.json', () => {
  test('states at the top how it is generated', () => {
    assert.match(
      readFileSync(`${root}openapi.json`, 'utf8').split('\n')[2] ?? '',
      /x-generated.*npm run openapi/,
    )
  })

  test('has only valid examples', () => {
    const examples = [...examplesIn(document, '#')]
    assert.ok(examples.length > 50, `There are only ${examples.length} examples.`)
    for (const { at, schema, value } of examples) assert.equal(problemsOf(schema, value), '', at)
  })
})

describe('the description of pets', () => {
  test('has the specified operations and their ids', () => {
    const named = Object.fromEntries(
      operations.map(({ method, path, operation }) => [operation.operationId, `${method} ${path}`]),
    )
    assert.equal(named.listPets, 'GET /pets')
    assert.equal(named.createPet, 'POST /pets')
    assert.equal(named.getPet, 'GET /pets/{petId}')
  })

  test('has Pet as NewPet and its id', () => {
    const { NewPet, Pet, Pets, PetStatus, Error: ErrorBody } = document.components.schemas
    assert.deepEqual(NewPet.required, ['name', 'categoryId'])
    assert.deepEqual(Object.keys(NewPet.properties), ['name', 'categoryId', 'status'])
    assert.deepEqual(Object.keys(Pet.properties), ['id', 'name', 'categoryId', 'status'])
    assert.deepEqual(Pet.required, ['id', 'name', 'categoryId'])
    for (const integer of [Pet.properties.id, Pet.properties.categoryId, NewPet.properties.categoryId]) {
      assert.deepEqual([integer.type, integer.format], ['integer', 'int64'])
    }
    assert.deepEqual(Pets.items, { $ref: '#/components/schemas/Pet' })
    assert.deepEqual(PetStatus.enum, ['available', 'pending', 'sold'])
    assert.deepEqual(ErrorBody.required, ['code', 'message', 'status'])
  })

  test('has the parameters of listPets with their bounds', () => {
    const named = Object.fromEntries(
      find('listPets')
        .operation.parameters.map((node: Node) => resolve(document, node))
        .map((parameter: Node) => [parameter.name, parameter]),
    )
    assert.deepEqual(named.limit.schema, { type: 'integer', minimum: 1, maximum: 100, default: 20 })
    assert.deepEqual(named.status.schema, { $ref: '#/components/schemas/PetStatus' })
    assert.equal(named.limit.required, false)
    assert.equal(named.status.required, false)
  })

  test('marks getPet, and nothing else, as deprecated', () => {
    const deprecated = operations.filter(({ operation }) => operation.deprecated)
    assert.deepEqual(
      deprecated.map(({ operation }) => [operation.operationId, operation['x-sunset']]),
      [['getPet', '2030-12-05']],
    )
  })
})

describe('every operation', () => {
  for (const { operation } of operations) {
    test(`${operation.operationId} has a complete description`, () => {
      const stability = operation['x-stability']
      assert.match(stability, /^(stable|beta|experimental)$/)
      assert.deepEqual(
        operation['x-badges'],
        stability === 'stable' ? undefined : [{ name: stability, position: 'before' }],
      )
      assert.ok(operation.summary && operation.description)
      for (const node of operation.parameters) {
        const parameter = resolve(document, node)
        assert.ok(parameter.description, `${parameter.name} has no description.`)
      }
      for (const [status, node] of Object.entries(operation.responses as Node)) {
        const { description, headers, content } = resolve(document, node)
        assert.ok(description)
        // A request that is not valid HTTP is rejected before it is counted.
        const isCounted = !node.$ref?.endsWith('/MalformedRequest')
        for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
          if (isCounted)
            assert.equal(resolve(document, headers[name]).required, true, `${status} lacks ${name}.`)
        }
        if (Number(status) >= 400) {
          assert.deepEqual(content['application/json'].schema, { $ref: '#/components/schemas/Error' })
        }
      }
      for (const status of ['401', '403', '429', '500', '503']) assert.ok(operation.responses[status], status)
      assert.ok(resolve(document, operation.responses['429']).headers['Retry-After'])
    })
  }

  test('requires a bearer token', () => {
    assert.deepEqual(document.security, [{ apiKey: [] }])
    const { type, scheme } = document.components.securitySchemes.apiKey
    assert.deepEqual([type, scheme], ['http', 'bearer'])
    for (const { operation } of operations) assert.equal(operation.security, undefined)
  })
})

describe('the served document', () => {
  const service = useService()

  test('equals the committed one as JSON and YAML, without a key', async () => {
    const json = await service.request('GET', '/v1/openapi.json')
    const yaml = await service.request('GET', '/v1/openapi.yaml')
    assert.match(json.headers['content-type'] ?? '', /^application\/json/)
    assert.match(yaml.headers['content-type'] ?? '', /^application\/yaml/)
    assert.deepEqual(json.json, document)
    assert.deepEqual(parse(yaml.text), document)
  })

  test('lists both environments if they are configured', async () => {
    await service.restart({
      PETSTORE_PRODUCTION_URL: 'https://api.petstore.example',
      PETSTORE_STAGING_URL: 'https://staging.petstore.example/v1/',
    })
    const { json } = await service.request('GET', '/v1/openapi.json')
    assert.deepEqual(json.servers, [
      { url: 'https://api.petstore.example/v1', description: 'Production' },
      { url: 'https://staging.petstore.example/v1', description: 'Staging' },
    ])
    assert.deepEqual({ ...json, servers: document.servers }, document)
  })
})

type Example = { at: string; schema: Node; value: unknown }

/** Every example in the document with its schema. */
function* examplesIn(node: unknown, at: string): Generator<Example> {
  if (typeof node !== 'object' || node === null) return
  const { schema, example, examples } = node as Node
  if (schema !== undefined) {
    if (example !== undefined) yield { at: `${at}/example`, schema, value: example }
    for (const [name, given] of Object.entries((examples ?? {}) as Node)) {
      yield { at: `${at}/examples/${name}`, schema, value: resolve(document, given).value }
    }
  } else if (Array.isArray(examples)) {
    for (const value of examples) yield { at: `${at}/examples`, schema: node as Node, value }
  }
  for (const [key, child] of Object.entries(node)) yield* examplesIn(child, `${at}/${key}`)
}
