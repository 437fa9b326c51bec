import assert from 'node:assert/strict'
import type { Client } from './client.ts'
import { jpeg } from './images.ts'
import { type Node, operationsOf, readDocument, resolve } from './openapi.ts'

const document = readDocument('openapi.json')

/** Every operation of the API, as it is described. */
export const describedOperations = operationsOf(document).map(({ method, path, operation }) => ({
  id: operation.operationId as string,
  method,
  path,
  description: operation,
}))

/** How to create what a path parameter names, if it is not by a POST to the path before it. */
const creators: Record<string, string> = { deliveryId: '/webhooks/{webhookId}/test', petId: '/pets' }

type Caller = { request: Client['request']; operatorKey: string }

/** The ids of what was created, by the names of the path parameters. */
export type Targets = Record<string, number | string>

/** Creates what the parameters of a path name, each with the example of its schema, and returns the ids. */
export async function createTargets(service: Caller, path: string): Promise<Targets> {
  const targets: Targets = {}
  for (const { 0: parameter, 1: name = '', index } of path.matchAll(/\{(\w+)\}/g)) {
    const collection = creators[name] ?? path.slice(0, index - 1)
    const creator = describedOperations.find(
      (operation) => operation.method === 'POST' && operation.path === collection,
    )
    if (name === 'importId') await deleteImports(service)
    assert.ok(creator, `No operation creates ${parameter} of ${path}: name it in "creators" of this file.`)
    const { status, json, text } = await service.request('POST', `/v1${withTargets(collection, targets)}`, {
      key: service.operatorKey,
      ...(await exampleRequest(service, creator.id)),
    })
    assert.ok(status >= 200 && status < 300, `${creator.id} with its example: ${text}`)
    targets[name] = json.id
  }
  return targets
}

/** There can be one import at a time. */
async function deleteImports({ request, operatorKey: key }: Caller): Promise<void> {
  for (const { id } of (await request('GET', '/v1/imports', { key })).json)
    await request('DELETE', `/v1/imports/${id}`, { key })
}

/** A path with the ids in place of its parameters. */
export const withTargets = (path: string, targets: Targets): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => String(targets[name]))

/** A request with the example of the body, or with a file. */
export async function exampleRequest(service: Caller, id: string) {
  if (id === 'addPetPhoto') return { body: await jpeg(32, 32), headers: { 'content-type': 'image/jpeg' } }
  if (id === 'createImport')
    return { body: 'name,categoryId\nLuna,3', headers: { 'content-type': 'text/csv' } }
  return { body: await exampleBody(service, id) }
}

let kinds = 0

/** The example of the body of an operation. What it refers to by an id exists. */
async function exampleBody(service: Caller, id: string): Promise<Node | undefined> {
  const operation = describedOperations.find((described) => described.id === id)
  const schema = operation?.description.requestBody?.content['application/json']?.schema
  if (schema === undefined) return undefined
  const [example] = resolve(document, schema).examples ?? []
  assert.ok(example, `The schema of the body of ${id} has no example.`)
  const body: Node = { ...example }
  // The names of categories differ.
  if (/^(?:create|update)Category$/.test(id)) body.name = `Kind ${++kinds}`
  for (const field of Object.keys(body).filter((name) => /^\w+Id$/.test(name))) {
    const owner = describedOperations.find(({ path }) => path.endsWith(`{${field}}`))
    // A category need not exist before an animal is in it.
    if (owner && field !== 'categoryId') Object.assign(body, await createTargets(service, owner.path))
  }
  return body
}
