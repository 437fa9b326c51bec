import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { operation } from '../../src/api/operation.ts'
import { Router } from '../../src/api/router.ts'

const tableOf = (paths: readonly string[]) =>
  new Router(
    paths.map((path) =>
      operation({
        id: path,
        method: 'GET',
        path,
        tag: '',
        summary: '',
        responses: {},
        read: () => ({ status: 204 }),
      }),
    ),
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

/** What the table must find, said in the plainest way: a literal part before a parameter. */
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

test('a path is found whatever was asked for before it', () => {
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
      const table = tableOf(templates)
      for (const asked of paths) {
        const route = table.find(asked)
        const id = route?.operations.get('GET')?.id
        assert.deepEqual(route && { id, params: route.params }, expected(asked), asked)
        if (route) found++
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(found > 500, `only ${found} paths led anywhere`)
})

test('what a parameter was encoded as is undone, and what cannot be is left', () => {
  const table = tableOf(templates)
  for (const [end, petId] of [
    ['7', '7'],
    ['7%41', '7A'],
    ['7%', '7%'],
    ['%37', '7'],
  ] as const) {
    assert.deepEqual(table.find(`/pets/${end}`)?.params, { petId })
  }
})

test('a last part that begins with a digit would be taken for a parameter, so there is none', () => {
  assert.throws(() => tableOf(['/pets/2fa']), /digit/)
})
