import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defineOperation } from '../../src/api/operation.ts'
import { Router } from '../../src/api/router.ts'

const routerOf = (paths: readonly string[], pagePaths: readonly string[] = []) =>
  new Router(
    paths.map((path) =>
      defineOperation(path, `GET ${path}`, {
        tag: '',
        summary: '',
        responses: {},
        read: () => ({ status: 204 }),
      }),
    ),
    pagePaths.map((path) => ({ path, serve: () => ({ status: 204, headers: [] }) })),
  )

const templates = [
  '/pets',
  '/pets/{petId}',
  '/pets/{petId}/photos',
  '/pets/{petId}/photos/{photoId}',
  '/pets/newest',
  '/orders/{orderId}',
  '/keys/{keyId}/ban',
  '/keys/self',
]

/** What the router must find: a literal segment takes precedence over a parameter. */
function expected(path: string) {
  const parts = path.split('/')
  const fitting = templates.filter((template) => {
    const wanted = template.split('/')
    return (
      wanted.length === parts.length &&
      wanted.every((text, index) => (text.startsWith('{') ? parts[index] !== '' : text === parts[index]))
    )
  })
  const template = fitting.toSorted((a, b) => a.split('{').length - b.split('{').length)[0]
  if (template === undefined) return undefined
  const names = template.split('/').map((text) => /^\{(.*)\}$/.exec(text)?.[1])
  const params = names.flatMap((name, index) => (name === undefined ? [] : [[name, parts[index]] as const]))
  return { id: template, params: Object.fromEntries(params) }
}

test('an operation is found by its path', () => {
  const part = fc.constantFrom(
    'pets',
    'orders',
    'keys',
    'photos',
    'ban',
    'newest',
    'self',
    '7',
    '7a',
    '70',
    '',
    'x',
    '-1',
  )
  const path = fc.oneof(
    fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
    fc
      .tuple(fc.constantFrom(...templates), part, part)
      .map(([template, one, other]) => template.replace(/\{\w+\}/, one).replace(/\{\w+\}/, other)),
  )
  let found = 0
  fc.assert(
    fc.property(fc.array(path, { minLength: 1, maxLength: 30 }), (paths) => {
      const router = routerOf(templates)
      for (const requested of paths) {
        const route = router.find(`/v1${requested}`)
        const id = route?.operations.get('GET')?.id
        assert.deepEqual(route && { id, params: { ...route.params } }, expected(requested), requested)
        if (route) found++
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(found > 500, `only ${found} paths led anywhere`)
})

test('a parameter is percent-decoded if it can be', () => {
  const router = routerOf(templates)
  for (const [end, petId] of [
    ['7', '7'],
    ['7%41', '7A'],
    ['7%', '7%'],
    ['%37', '7'],
    ['%2F', '/'],
  ] as const) {
    assert.deepEqual({ ...router.find(`/v1/pets/${end}`)?.params }, { petId })
  }
})

test('names of object members are ordinary segments', () => {
  const router = routerOf(templates)
  assert.equal(router.find('/v1/__proto__'), undefined)
  assert.equal(router.find('/v1/constructor/toString'), undefined)
  assert.deepEqual({ ...router.find('/v1/pets/__proto__')?.params }, { petId: '__proto__' })
})

test('only a page may end with a slash', () => {
  const router = routerOf(templates, ['/docs', '/'])
  for (const path of ['/docs', '/docs/', '/']) assert.ok(router.find(path)?.page, path)
  for (const path of ['/v1/pets/', '/v1/pets/7/', '/v1/pets//', '//docs', '/docs//']) {
    assert.equal(router.find(path), undefined, path)
  }
})
