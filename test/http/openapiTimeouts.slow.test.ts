import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createValidator, operationsOf, readDocument, resolve } from '../support/openapi.ts'
import { openRawConnection } from '../support/rawConnection.ts'
import { useService } from '../support/useService.ts'

/** Headers of HTTP itself, which OpenAPI documents do not list. */
const plainHeaders =
  /^(date|connection|content-type|content-length|cache-control|vary|x-content-type-options|x-accel-buffering)$/

const document = readDocument('openapi.json')
const problemsOf = createValidator(document)
const service = useService()

test('a request that does not arrive gets the 408 of the document, from every operation', async () => {
  const { json: pet } = await service.request('POST', '/v1/pets', {
    key: service.operatorKey,
    body: { name: 'Milo', categoryId: 3 },
  })
  const late = operationsOf(document).flatMap(({ method, path, operation }) => {
    const { content = {} } = operation.requestBody ?? {}
    const type = Object.keys(content)[0] ?? 'application/json'
    const target = `/v1${path.replaceAll(/\{\w+\}/g, String(pet.id))}`
    const head =
      `${method} ${target} HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer ${service.operatorKey}\r\n` +
      `Prefer: handling=strict\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n`
    // A read does not wait for a body.
    const withBody = method === 'GET' ? [] : [`${head}\r\n{`]
    return [head, ...withBody].map((text) => ({ text, operation }))
  })
  await Promise.all(
    late.map(async ({ text, operation }) => {
      const caller = await openRawConnection(service.base, text)
      const { status, head, body } = await caller.response()
      caller.socket.destroy()
      const at = `${operation.operationId}: ${text.replace(/Bearer.*/, '')}`
      assert.equal(status, 408, at)
      const response = resolve(document, operation.responses['408'])
      assert.equal(problemsOf(response.content['application/json'].schema, JSON.parse(body)), '', at)
      assert.deepEqual([JSON.parse(body).code, JSON.parse(body).status], ['validation_failed', 408], at)
      const sent = [...head.matchAll(/^([\w-]+):/gm)].map(([, name]) => String(name).toLowerCase())
      const described = Object.entries(response.headers).map(([name, node]) => ({
        name: name.toLowerCase(),
        isRequired: resolve(document, node as object).required === true,
      }))
      for (const { name, isRequired } of described)
        assert.ok(!isRequired || sent.includes(name), `${at} lacks ${name}`)
      for (const name of sent)
        assert.ok(plainHeaders.test(name) || described.some((one) => one.name === name), `${at} has ${name}`)
    }),
  )
})
