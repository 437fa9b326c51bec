import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { eventTypes } from '../../src/events/event.ts'
import { webhookStatuses } from '../../src/webhooks/webhook.ts'
import { errorCatalogue } from '../support/errorCatalogue.ts'
import { type Node, operationsOf, readDocument, resolve, root } from '../support/openapi.ts'
import { assertSameNames } from '../support/sameNames.ts'

const document = readDocument('openapi.json')
const operations = operationsOf(document)
const { schemas } = document.components
const listEvents: Node = document.paths['/events'].get
const bytesPerOperationMax = 4_100
const bytesPerFieldMax = 170

/** Headers that are never rejected: an invalid value is ignored or replaced. */
const unboundedHeaders = ['X-Request-Id', 'Prefer', 'If-Match', 'If-None-Match']

/** The schema and all nested schemas. Each reference is followed once. */
function* schemasIn(
  schema: Node,
  at: string,
  seen = new Set<string>(),
): Generator<{ at: string; schema: Node }> {
  if (schema.$ref !== undefined) {
    if (seen.has(schema.$ref)) return
    seen.add(schema.$ref)
    yield* schemasIn(resolve(document, schema), schema.$ref, seen)
    return
  }
  yield { at, schema }
  for (const [name, property] of Object.entries((schema.properties ?? {}) as Node)) {
    yield* schemasIn(property, `${at}/${name}`, seen)
  }
  if (schema.items) yield* schemasIn(schema.items, `${at}/items`, seen)
  for (const alternative of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    yield* schemasIn(alternative, `${at}/*`, seen)
  }
}

const allSchemas = () =>
  Object.entries(schemas as Node).flatMap(([name, schema]) => [...schemasIn(schema, name)])

const requestSchemas = () =>
  operations.flatMap(({ operation }) => {
    const id = operation.operationId
    const parameters: Node[] = operation.parameters
      .map((node: Node) => resolve(document, node))
      .filter(({ name }: Node) => !unboundedHeaders.includes(name))
    const body = operation.requestBody?.content['application/json']?.schema
    return [
      ...parameters.flatMap(({ name, schema }) => [...schemasIn(schema, `${id} ${name}`)]),
      ...(body ? schemasIn(body, `${id} body`) : []),
    ]
  })

const hasBounds = ({ minimum, maximum, format }: Node) =>
  ['int32', 'int64'].includes(format) || (minimum !== undefined && maximum !== undefined)

describe('the document contains the limits of the service:', () => {
  test('every string in a request has a length, a pattern or an enum', () => {
    for (const { at, schema } of requestSchemas()) {
      if (![schema.type].flat().includes('string')) continue
      const isBounded = ['maxLength', 'format', 'pattern', 'enum'].some((keyword) => keyword in schema)
      assert.ok(isBounded, `${at} has no bound: ${JSON.stringify(schema)}`)
    }
  })

  test('every array in a request has a length', () => {
    for (const { at, schema } of requestSchemas()) {
      if (schema.type === 'array') assert.ok(schema.maxItems > 0, `${at} has no maxItems.`)
    }
  })

  test('every integer has a range or a format', () => {
    for (const { at, schema } of [...requestSchemas(), ...allSchemas()]) {
      if ([schema.type].flat().includes('integer')) {
        assert.ok(hasBounds(schema), `${at} has neither: ${JSON.stringify(schema)}`)
      }
    }
    for (const [name, { schema }] of Object.entries(document.components.headers as Node)) {
      if (schema.type === 'integer') assert.ok(hasBounds(schema), `${name} has neither.`)
    }
  })

  test('every id of a resource is an int64', () => {
    let ids = 0
    // Photos and imports have random ids, and other systems have ids of any form.
    const isText = (at: string) => /(Photo(State)?|Import)\/id$|[/ ](photoId|importId|externalId)$/.test(at)
    for (const { at, schema } of [...requestSchemas(), ...allSchemas()]) {
      if (!/(?:^|[/ ])(?:id|(?!requestId)\w+Id)(?:\/items)?$/.test(at) || schema.type === 'array') continue
      if (isText(at)) continue
      ids++
      assert.deepEqual([schema.type, schema.format], ['integer', 'int64'], at)
    }
    assert.ok(ids > 20, `Only ${ids} ids were found.`)
  })

  test('the position in the feed has an upper bound', () => {
    const after = listEvents.parameters.find(({ name }: Node) => name === 'after')
    assert.deepEqual(
      [after.schema.minimum, after.schema.maximum, after.schema.format],
      [0, Number.MAX_SAFE_INTEGER, 'int64'],
    )
  })

  test('names are not blank, origins are valid, webhook URLs use https or http', () => {
    const named = { NewPet: 'name', NewCategory: 'name', NewKey: 'name', Customer: 'name' }
    for (const [schema, field] of Object.entries(named)) {
      const pattern = new RegExp(schemas[schema].properties[field].pattern, 'u')
      for (const blank of ['', ' ', '\t\n', '\u3000', '\ufeff', '\u00a0 '])
        assert.doesNotMatch(blank, pattern)
      for (const name of ['a', ' a ', '\na\n', '  \u{1f430}']) assert.match(name, pattern)
    }
    const { maxItems, items } = resolve(document, schemas.NewKey.properties.origins)
    const origin = new RegExp(items.pattern, 'u')
    assert.deepEqual([maxItems, items.format, items.maxLength], [20, 'uri', 267])
    for (const good of ['https://shelter.example', 'http://localhost:3000', 'https://[2001:db8::1]:8443'])
      assert.match(good, origin)
    for (const bad of ['shelter.example', 'https://shelter.example/', 'ftp://a', 'https://A.example'])
      assert.doesNotMatch(bad, origin)
    for (const schema of ['NewWebhook', 'WebhookChange']) {
      const pattern = new RegExp(schemas[schema].properties.url.pattern, 'u')
      // The operator can allow addresses, which then can use http.
      for (const url of ['https://shelter.example/hook', 'http://10.0.0.1/hook']) assert.match(url, pattern)
      for (const url of ['ftp://shelter.example/', 'shelter.example', 'https://a b'])
        assert.doesNotMatch(url, pattern)
    }
  })

  test('only an enterprise key has custom limits', () => {
    for (const schema of ['NewKey', 'KeyChange', 'Key'])
      assert.match(schemas[schema].properties.limits.description, /enterprise/)
  })

  test('every operation can return 400', () => {
    for (const { operation } of operations) assert.ok(operation.responses['400'], operation.operationId)
  })
})

describe('the description of events', () => {
  const { Event, WebhookMessage } = schemas

  test('has named enums and marks the open ones', () => {
    const open = { EventType: eventTypes, ErrorCode: [...errorCatalogue.keys()] }
    for (const [name, values] of Object.entries(open)) {
      assert.deepEqual(schemas[name].anyOf, [
        { $ref: `#/components/schemas/Known${name}` },
        { type: 'string' },
      ])
      assert.match(schemas[name].description, /open list/i)
      assertSameNames(`The enum Known${name} in openapi.json`, schemas[`Known${name}`].enum, values)
    }
    assert.deepEqual(schemas.WebhookStatus.enum, webhookStatuses)
    assert.deepEqual(schemas.Webhook.properties.status, { $ref: '#/components/schemas/WebhookStatus' })
    assert.deepEqual(schemas.Error.properties.code, { $ref: '#/components/schemas/ErrorCode' })
    assert.deepEqual(schemas.Webhook.properties.events.items, { $ref: '#/components/schemas/EventType' })
    assert.deepEqual(schemas.NewWebhook.properties.events.items, {
      $ref: '#/components/schemas/KnownEventType',
    })
  })

  test('has one kind of event for each type, and one webhook message', () => {
    for (const [union, types] of [
      [Event, eventTypes],
      [WebhookMessage, [...eventTypes, 'webhook.test']],
    ]) {
      const { propertyName, mapping } = union.discriminator
      assert.equal(propertyName, 'type')
      assert.equal(union['x-extensible'], true)
      assertSameNames('The event types in OpenAPI', Object.keys(mapping), types)
      for (const [type, $ref] of Object.entries(mapping)) {
        const { properties, required } = resolve(document, { $ref })
        assert.ok(properties.type.enum.includes(type), `${$ref} is not of the type ${type}.`)
        assert.ok(required.includes('type') && required.includes('data'))
        assert.match(properties.data.$ref, /^#\/components\/schemas\/\w+$/)
      }
      const members = new Set(union.oneOf.map(({ $ref }: Node) => $ref))
      assert.deepEqual(members, new Set(Object.values(mapping)))
    }
  })

  test('describes both the stream and the page', () => {
    const { content } = resolve(document, listEvents.responses['200'])
    assert.deepEqual(Object.keys(content), ['application/json', 'text/event-stream'])
    assert.equal(content['text/event-stream'].schema.type, 'string')
    assert.match(content['text/event-stream'].example, /^id: \d+\nevent: pet\.\w+\ndata: \{.*\}\n\n$/)
  })

  test('describes webhook messages, their headers and the expected responses', () => {
    const { post } = document.webhooks.event
    assert.deepEqual(post.requestBody.content['application/json'].schema, {
      $ref: '#/components/schemas/WebhookMessage',
    })
    assert.equal(post.requestBody.required, true)
    assert.deepEqual(
      post.parameters.map(({ name, in: where, required }: Node) => [name, where, required]),
      [
        ['webhook-id', 'header', true],
        ['webhook-timestamp', 'header', true],
        ['webhook-signature', 'header', true],
      ],
    )
    assert.deepEqual(Object.keys(post.responses), ['410', '2XX', 'default'])
    assert.deepEqual(post.security, [])
  })
})

describe('the document is short and suitable for code generators:', () => {
  test(`it has at most ${bytesPerOperationMax} bytes for each operation and ${bytesPerFieldMax} for each field`, () => {
    const { length } = readFileSync(`${root}openapi.json`)
    const fields = Object.values<Node>(schemas).flatMap(({ properties = {} }) =>
      Object.keys(properties),
    ).length
    const lengthMax = bytesPerOperationMax * operations.length + bytesPerFieldMax * fields
    assert.ok(length <= lengthMax, `openapi.json has ${length} bytes. It may have ${lengthMax}.`)
  })

  test('no parameter or header is repeated', () => {
    const responses: Node[] = [
      ...operations.flatMap(({ operation }) => Object.values(operation.responses as Node)),
      ...Object.values(document.components.responses as Node),
    ]
    const parameters = operations.flatMap(({ operation }) => operation.parameters)
    for (const nodes of [parameters, responses.flatMap(({ headers }) => Object.values(headers ?? {}))]) {
      const written = nodes
        .filter(({ $ref }: Node) => $ref === undefined)
        .map((node: Node) => JSON.stringify(node))
      const twice = written.filter((node, index) => written.indexOf(node) !== index)
      assert.deepEqual(twice, [])
    }
  })

  test('every response is a component', () => {
    for (const { operation } of operations) {
      for (const response of Object.values(operation.responses as Node)) {
        assert.match(response.$ref ?? '', /^#\/components\/responses\/\w+$/, operation.operationId)
      }
    }
  })

  test('every object schema has a name', () => {
    for (const { at, schema } of [...requestSchemas(), ...allSchemas()]) {
      const isNamed = at in schemas || at.startsWith('#/components/schemas/')
      if (schema.properties !== undefined) assert.ok(isNamed, `${at} is an object without a name.`)
    }
  })

  test('every component is used', () => {
    const text = JSON.stringify(document)
    for (const section of ['schemas', 'responses', 'parameters', 'headers', 'examples']) {
      for (const name of Object.keys(document.components[section])) {
        assert.ok(text.includes(`"#/components/${section}/${name}"`), `${section}/${name} is not used.`)
      }
    }
  })
})
