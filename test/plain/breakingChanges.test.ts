import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { breakingChanges, forbiddenChanges } from '../support/breakingChanges.ts'
import { type Node, readDocument } from '../support/openapi.ts'

const { paths, ...rest }: Node = readDocument('docs/openapi/1.0.0.json')
/** What the changes below are about. Comparing the whole document would take several times as long. */
const changedPaths = [
  '/pets',
  '/pets/{petId}',
  '/limits',
  '/keys',
  '/keys/{keyId}',
  '/keys/{keyId}/rotate',
  '/store/inventory',
  '/events',
  '/webhooks',
]
const baseline: Node = { ...rest, paths: Object.fromEntries(changedPaths.map((path) => [path, paths[path]])) }

describe('an incompatible change of an operation that is not stable', () => {
  const after = structuredClone(baseline)
  delete after.paths['/store/inventory']
  delete after.paths['/events'].get.responses['410']
  delete after.webhooks.event
  const changes = (notes: string) => forbiddenChanges(baseline, after, notes)

  test('fails if the changelog does not name the operation under Changed or Removed', () => {
    for (const notes of ['', '### Added\n\n- `getInventory`, `listEvents`, `receiveEvent`\n']) {
      const [inventory, events, webhook, ...others] = changes(notes)
      assert.deepEqual(others, [])
      assert.match(String(inventory), /^GET \/store\/inventory: was removed\. .* beta, .*name `getInventory`/)
      assert.match(
        String(events),
        /^GET \/events: no longer returns 410\. .* experimental, .*name `listEvents`/,
      )
      assert.match(String(webhook), /^webhook event: was removed\. .* experimental, /)
    }
  })

  test('passes if it does', () => {
    const { operationId } = baseline.webhooks.event.post
    const notes = `## [Unreleased]\n\n### Changed\n\n- \`listEvents\` has no 410.\n\n## [1.1.0] - 2026-11-17\n\n### Removed\n\n- \`getInventory\`, \`${operationId}\`\n`
    assert.deepEqual(changes(notes), [])
  })

  test('does not excuse one of a stable operation', () => {
    const broken = structuredClone(baseline)
    delete broken.paths['/limits']
    assert.deepEqual(forbiddenChanges(baseline, broken, '### Removed\n\n- `getLimits`\n'), [
      'GET /limits: was removed',
    ])
  })
})

type Mutation = { name: string; mutate(document: Node): void; says?: RegExp }

const pets = (document: Node): Node => document.paths['/pets']
const pet = (document: Node): Node => document.paths['/pets/{petId}']
const schema = (document: Node, name: string): Node => document.components.schemas[name]
/** The part itself, wherever it is, so that it can be changed. */
const itself = (document: Node, node: Node): Node =>
  node.$ref === undefined
    ? node
    : node.$ref
        .split('/')
        .slice(1)
        .reduce((at: Node, key: string) => at[key], document)
const parameter = (document: Node, operation: Node, name: string): Node =>
  operation.parameters
    .map((node: Node) => itself(document, node))
    .find((candidate: Node) => candidate.name === name)
const response = (document: Node, operation: Node, status: string): Node =>
  itself(document, operation.responses[status])
const without = (list: unknown[], value: unknown) => list.filter((item) => item !== value)

const breaking: Required<Mutation>[] = [
  {
    name: 'a path goes',
    mutate: (document) => {
      delete document.paths['/limits']
    },
    says: /^GET \/limits: was removed$/,
  },
  {
    name: 'an operation goes',
    mutate: (document) => {
      delete pet(document).get
    },
    says: /^GET \/pets\/\{petId\}: was removed$/,
  },
  {
    name: 'an operation is renamed',
    mutate: (document) => {
      pets(document).get.operationId = 'findPets'
    },
    says: /operationId: was "listPets"/,
  },
  {
    name: 'an operation is no longer stable',
    mutate: (document) => {
      pets(document).get['x-stability'] = 'beta'
    },
    says: /no longer stable/,
  },
  {
    name: 'a status goes',
    mutate: (document) => {
      delete pet(document).get.responses['404']
    },
    says: /no longer returns 404/,
  },
  {
    name: 'a field of a response is removed',
    mutate: (document) => {
      delete schema(document, 'Pet').properties.status
    },
    says: /\/status: was removed/,
  },
  {
    name: 'a field of the error goes',
    mutate: (document) => {
      delete schema(document, 'Error').properties.details
    },
    says: /\/details: was removed/,
  },
  {
    name: 'a field of a response becomes optional',
    mutate: (document) => {
      schema(document, 'Pet').required = ['id', 'name']
    },
    says: /\/categoryId: is no longer always there/,
  },
  {
    name: 'a field of a response may be null',
    mutate: (document) => {
      schema(document, 'Pet').properties.name.type = ['string', 'null']
    },
    says: /\/name: may now be "null"/,
  },
  {
    name: 'a field of a response has another type',
    mutate: (document) => {
      schema(document, 'Pet').properties.id.type = 'string'
    },
    says: /\/id: is no longer "integer"/,
  },
  {
    name: 'a field of a response has another format',
    mutate: (document) => {
      schema(document, 'Pet').properties.id.format = 'int32'
    },
    says: /\/id format: was "int64"/,
  },
  {
    name: 'a response has a new enum value',
    mutate: (document) => {
      schema(document, 'PetStatus').enum.push('reserved')
    },
    says: /\/status enum/,
  },
  {
    name: 'a list becomes an object',
    mutate: (document) => {
      document.components.schemas.Pets = { type: 'object', properties: { items: schema(document, 'Pets') } }
    },
    says: /is no longer "array"/,
  },
  {
    name: 'the animals in a list change',
    mutate: (document) => {
      schema(document, 'Pets').items = { type: 'integer' }
    },
    says: /\/\*: is no longer "object"/,
  },
  {
    name: 'a body has another media type',
    mutate: (document) => {
      const page = response(document, pets(document).get, '200')
      page.content = { 'application/xml': page.content['application/json'] }
    },
    says: /is no longer application\/json/,
  },
  {
    name: 'an empty response gets a body',
    mutate: (document) => {
      response(document, pet(document).delete, '204').content = {
        'application/json': { schema: { type: 'object' } },
      }
    },
    says: /204: now has a body/,
  },
  {
    name: 'a header goes',
    mutate: (document) => {
      delete response(document, pets(document).post, '201').headers.Location
    },
    says: /lost the header Location/,
  },
  {
    name: 'a header is no longer always sent',
    mutate: (document) => {
      document.components.headers['X-RateLimit-Reset'].required = false
    },
    says: /X-RateLimit-Reset: is no longer always sent/,
  },
  {
    name: 'a header has another type',
    mutate: (document) => {
      document.components.headers['Retry-After'].schema.type = 'string'
    },
    says: /Retry-After: is no longer "integer"/,
  },
  {
    name: 'a shared response loses its body',
    mutate: (document) => {
      delete document.components.responses.Unauthorized.content
    },
    says: /401: is no longer application\/json/,
  },
  {
    name: 'a request needs one more field',
    mutate: (document) => {
      schema(document, 'NewPet').required.push('status')
    },
    says: /\/status: became required/,
  },
  {
    name: 'a request needs a new field',
    mutate: (document) => {
      schema(document, 'NewPet').properties.breed = { type: 'string' }
      schema(document, 'NewPet').required.push('breed')
    },
    says: /\/breed: became required/,
  },
  {
    name: 'a field of a request goes',
    mutate: (document) => {
      delete schema(document, 'NewPet').properties.status
    },
    says: /\/status: was removed/,
  },
  {
    name: 'a field of a request may no longer be null',
    mutate: (document) => {
      schema(document, 'KeyChange').properties.expiresAt = { type: 'string', format: 'date-time' }
    },
    says: /\/expiresAt: is no longer "null"/,
  },
  {
    name: 'a request takes fewer values',
    mutate: (document) => {
      schema(document, 'PetStatus').enum = ['available', 'pending']
    },
    says: /status enum/,
  },
  {
    name: 'a request takes only some values',
    mutate: (document) => {
      schema(document, 'NewPet').properties.name.enum = ['Milo']
    },
    says: /\/name enum: was nothing/,
  },
  {
    name: 'a request takes shorter texts',
    mutate: (document) => {
      schema(document, 'NewPet').properties.name.maxLength = 100
    },
    says: /\/name maxLength: was 255 and is 100/,
  },
  {
    name: 'a request takes texts of one form',
    mutate: (document) => {
      schema(document, 'NewPet').properties.name.pattern = '^[A-Z]'
    },
    says: /\/name pattern/,
  },
  {
    name: 'a request gets a lower bound',
    mutate: (document) => {
      schema(document, 'NewPet').properties.categoryId.minimum = 1
    },
    says: /\/categoryId minimum/,
  },
  {
    name: 'a request is closed to unknown fields',
    mutate: (document) => {
      schema(document, 'NewPet').additionalProperties = false
    },
    says: /additionalProperties/,
  },
  {
    name: 'a body becomes required',
    mutate: (document) => {
      document.paths['/keys/{keyId}/rotate'].post.requestBody.required = true
    },
    says: /body: became required/,
  },
  {
    name: 'a body is no longer taken',
    mutate: (document) => {
      delete pets(document).post.requestBody
    },
    says: /body: is no longer taken/,
  },
  {
    name: 'a parameter goes',
    mutate: (document) => {
      const { get } = pets(document)
      get.parameters = without(get.parameters, parameter(document, get, 'status'))
    },
    says: /no longer takes the query parameter status/,
  },
  {
    name: 'a parameter becomes required',
    mutate: (document) => {
      parameter(document, pets(document).get, 'status').required = true
    },
    says: /status: became required/,
  },
  {
    name: 'a new parameter is required',
    mutate: (document) => {
      pets(document).get.parameters.push({ name: 'store', in: 'query', required: true, schema: {} })
    },
    says: /now requires the query parameter store/,
  },
  {
    name: 'a parameter takes less',
    mutate: (document) => {
      parameter(document, pets(document).get, 'limit').schema.maximum = 50
    },
    says: /limit maximum: was 100 and is 50/,
  },
  {
    name: 'a parameter has another default',
    mutate: (document) => {
      parameter(document, pets(document).get, 'limit').schema.default = 10
    },
    says: /limit default: was 20 and is 10/,
  },
  {
    name: 'a list parameter is written in another way',
    mutate: (document) => {
      parameter(document, pets(document).get, 'id').explode = false
    },
    says: /id style/,
  },
  {
    name: 'a response loses a field that it shares with another schema',
    mutate: (document) => {
      delete schema(document, 'Key').properties.scopes
    },
    says: /^POST \/keys 201\/scopes: was removed$/,
  },
  {
    name: 'a response is no longer streamed',
    mutate: (document) => {
      delete response(document, document.paths['/events'].get, '200').content['text/event-stream']
    },
    says: /is no longer text\/event-stream/,
  },
  {
    name: 'a closed list of values is opened',
    mutate: (document) => {
      document.components.schemas.PetStatus = { anyOf: [schema(document, 'PetStatus'), { type: 'string' }] }
    },
    says: /\/status enum/,
  },
  {
    name: 'an open list becomes something else',
    mutate: (document) => {
      document.components.schemas.ErrorCode = { type: 'integer' }
    },
    says: /\/code: is no longer "string"/,
  },
  {
    name: 'a type of event goes',
    mutate: (document) => {
      const { oneOf, discriminator } = schema(document, 'Event')
      schema(document, 'Event').oneOf = oneOf.filter(({ $ref }: Node) => !$ref.endsWith('/KeyBannedEvent'))
      delete discriminator.mapping['key.banned']
    },
    says: /\/key\.banned: was removed/,
  },
  {
    name: 'an event carries other data',
    mutate: (document) => {
      schema(document, 'PetEvent').properties.data = { $ref: '#/components/schemas/DeletedResource' }
    },
    says: /\/pet\.updated\/data\/name: was removed/,
  },
  {
    name: 'a type of event gets the data of another kind',
    mutate: (document) => {
      const { mapping } = schema(document, 'Event').discriminator
      mapping['pet.updated'] = mapping['pet.deleted']
    },
    says: /\/pet\.updated\/data\/name: was removed/,
  },
  {
    name: 'a webhook goes',
    mutate: (document) => {
      delete document.webhooks.event
    },
    says: /^webhook event: was removed$/,
  },
  {
    name: 'a message to webhooks loses a field',
    mutate: (document) => {
      delete schema(document, 'OrderMessage').properties.timestamp
    },
    says: /^webhook event\/order\.placed\/timestamp: was removed$/,
  },
  {
    name: 'a message to webhooks loses a header',
    mutate: (document) => {
      document.webhooks.event.post.parameters.pop()
    },
    says: /^webhook event: lost the header webhook-signature$/,
  },
  {
    name: 'a response of a webhook is no longer accepted',
    mutate: (document) => {
      delete document.webhooks.event.post.responses['410']
    },
    says: /^webhook event: no longer accepts the response 410$/,
  },
  {
    name: 'keys are sent in another way',
    mutate: (document) => {
      document.components.securitySchemes.apiKey = { type: 'apiKey', in: 'header', name: 'X-Key' }
    },
    says: /security scheme apiKey/,
  },
  {
    name: 'an operation requires other credentials',
    mutate: (document) => {
      pets(document).get.security = [{ session: [] }]
    },
    says: /GET \/pets security/,
  },
]

const harmless: Mutation[] = [
  {
    name: 'an operation is added',
    mutate: (document) => {
      document.paths['/store/visits'] = { get: { ...pets(document).get, operationId: 'listVisits' } }
    },
  },
  {
    name: 'an optional parameter is added',
    mutate: (document) => {
      pets(document).get.parameters.push({ name: 'sort', in: 'query', schema: { type: 'string' } })
    },
  },
  {
    name: 'an optional field is added to a request',
    mutate: (document) => {
      schema(document, 'NewPet').properties.breed = { type: 'string' }
    },
  },
  {
    name: 'a field is added to a response',
    mutate: (document) => {
      schema(document, 'Limits').properties.hour = { type: 'object' }
      schema(document, 'Limits').required.push('hour')
    },
  },
  {
    name: 'a field of a response becomes required',
    mutate: (document) => {
      schema(document, 'Pet').required.push('status')
    },
  },
  {
    name: 'a field of a response is no longer nullable',
    mutate: (document) => {
      schema(document, 'Limits').properties.bannedUntil = { type: 'string', format: 'date-time' }
    },
  },
  {
    name: 'a field of a request may be null',
    mutate: (document) => {
      schema(document, 'NewKey').properties.expiresAt.type = ['string', 'null']
    },
  },
  {
    name: 'a field of a request becomes optional',
    mutate: (document) => {
      schema(document, 'NewPet').required = ['name']
    },
  },
  {
    name: 'a request takes longer texts',
    mutate: (document) => {
      schema(document, 'NewPet').properties.name.maxLength = 1000
    },
  },
  {
    name: 'a parameter takes more',
    mutate: (document) => {
      parameter(document, pets(document).get, 'limit').schema.maximum = 500
    },
  },
  {
    name: 'a status is added',
    mutate: (document) => {
      pets(document).get.responses['404'] = { $ref: '#/components/responses/Unauthorized' }
    },
  },
  {
    name: 'a header is added',
    mutate: (document) => {
      response(document, pets(document).get, '200').headers.Age = { schema: { type: 'integer' } }
    },
  },
  {
    name: 'a value is added to an open list',
    mutate: (document) => {
      schema(document, 'KnownEventType').enum.push('pet.fed')
      schema(document, 'KnownErrorCode').enum.push('too_hungry')
    },
  },
  {
    name: 'a kind of event is added',
    mutate: (document) => {
      for (const [union, kind] of [
        ['Event', 'PetEvent'],
        ['WebhookMessage', 'PetMessage'],
      ] as const) {
        const added = structuredClone(schema(document, kind))
        added.properties.type.enum = ['pet.fed']
        added.properties.data = { $ref: '#/components/schemas/DeletedResource' }
        document.components.schemas[`${kind}Fed`] = added
        const $ref = `#/components/schemas/${kind}Fed`
        schema(document, union).oneOf.push({ $ref })
        schema(document, union).discriminator.mapping['pet.fed'] = $ref
      }
    },
  },
  {
    name: 'a type of event gets a separate schema',
    mutate: (document) => {
      document.components.schemas.PetUpdatedEvent = structuredClone(schema(document, 'PetEvent'))
      const { oneOf, discriminator } = schema(document, 'Event')
      discriminator.mapping['pet.updated'] = '#/components/schemas/PetUpdatedEvent'
      oneOf.push({ $ref: '#/components/schemas/PetUpdatedEvent' })
    },
  },
  {
    name: 'a field is added to the data of an event',
    mutate: (document) => {
      schema(document, 'OrderState').properties.note = { type: 'string' }
    },
  },
  {
    name: 'an operation becomes stable, and no longer sends its stability',
    mutate: (document) => {
      const { get } = document.paths['/store/inventory']
      get['x-stability'] = 'stable'
      delete response(document, get, '200').headers['X-Stability']
    },
  },
  {
    name: 'a webhook is added',
    mutate: (document) => {
      document.webhooks.other = structuredClone(document.webhooks.event)
    },
  },
  {
    name: 'a header is written out in place',
    mutate: (document) => {
      const { headers } = response(document, pets(document).get, '200')
      headers['X-RateLimit-Limit'] = itself(document, headers['X-RateLimit-Limit'])
    },
  },
  {
    name: 'an operation is deprecated',
    mutate: (document) => {
      pets(document).get.deprecated = true
    },
  },
  {
    name: 'texts, examples and servers change',
    mutate: (document) => {
      pets(document).get.summary = 'Animals'
      schema(document, 'Pet').description = 'A pet.'
      schema(document, 'NewPet').examples = [{ name: 'Luna', categoryId: 1 }]
      document.servers = [{ url: 'https://petstore.example/v1' }]
    },
  },
  {
    name: 'a named schema is spelled out in place',
    mutate: (document) => {
      pets(document).post.requestBody.content['application/json'].schema = schema(document, 'NewPet')
      pets(document).get.responses['401'] = document.components.responses.Unauthorized
    },
  },
]

function changed({ mutate }: Mutation): string[] {
  const document = structuredClone(baseline)
  mutate(document)
  assert.notDeepEqual(document, baseline)
  return breakingChanges(baseline, document)
}

describe('a change is called breaking when', () => {
  for (const mutation of breaking) {
    test(mutation.name, () => {
      const changes = changed(mutation)
      assert.ok(
        changes.some((change) => mutation.says.test(change)),
        `Nothing like ${mutation.says} is among:\n${changes.join('\n')}`,
      )
    })
  }
})

describe('a change is harmless when', () => {
  for (const mutation of harmless) test(mutation.name, () => assert.deepEqual(changed(mutation), []))
})
