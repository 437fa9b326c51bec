import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { describe, test } from 'node:test'
import { importsOf, type Source, sources } from '../support/sources.ts'

const features = ['pets', 'categories', 'keys', 'orders', 'inventory', 'events', 'webhooks']

/** Files at the top of src/ that stand for a room of their own. */
const rooms = [
  'commands',
  'service',
  'schedule',
  'operations',
  'config',
  'clock',
  'maybePromise',
  'pages',
  'telemetry',
  ...features,
  'server',
  'openapi',
  'auth',
  'limits',
  'api',
  'database',
]

/** Which folders each folder may use. */
const arrows: Record<string, readonly string[]> = {
  main: ['commands', 'config'],
  commands: rooms,
  service: rooms.filter((room) => room !== 'commands'),
  schedule: [...features, 'clock', 'database', 'telemetry'],
  operations: [...features, 'auth', 'limits', 'config', 'api', 'database'],
  // A setting that is an API key is checked as one.
  config: ['auth'],
  clock: [],
  maybePromise: [],
  pages: ['config', 'telemetry', 'openapi', 'api'],
  telemetry: ['clock', 'auth', 'api'],
  ...Object.fromEntries(
    features.map((feature) => [
      feature,
      [...features, 'clock', 'maybePromise', 'auth', 'limits', 'openapi', 'api', 'database'],
    ]),
  ),
  auth: ['clock', 'maybePromise', 'limits', 'api', 'database'],
  limits: ['clock', 'maybePromise', 'api', 'database'],
  openapi: ['api'],
  server: ['clock', 'maybePromise', 'api'],
  api: ['clock', 'maybePromise', 'database'],
  database: ['clock', 'maybePromise'],
}

/** Pure: types and rules, without HTTP and SQL. */
const rules = [
  'pets/pet.ts',
  'categories/category.ts',
  'orders/order.ts',
  'events/event.ts',
  'webhooks/webhook.ts',
  'keys/key.ts',
  'limits/plans.ts',
  'auth/apiKey.ts',
  'limits/window.ts',
]

const linesMax = 300

const roomOf = ({ room, path }: Source) => (room === '' ? path.replace(/\.ts$/, '') : room)
const byPath = new Map(sources.map((source) => [source.path, source]))
const localImports = ({ path, text }: Source) =>
  importsOf({ text })
    .filter((name) => name.startsWith('.'))
    .map((name) => posix.join(posix.dirname(path), name))

const filesOfRoom = Map.groupBy(sources, roomOf)
const usesOf = (source: Source): Source[] =>
  localImports(source).map((path) => {
    const used = byPath.get(path)
    assert.ok(used, `${source.path} imports ${path}, which is not in src/.`)
    return used
  })

describe('the arrows of the architecture', () => {
  test('every room is on the map', () => {
    for (const room of filesOfRoom.keys())
      assert.ok(room in arrows, `src/${room} is not on the map of this test.`)
  })

  for (const [room, files] of filesOfRoom) {
    test(`${room} imports only what it may`, () => {
      for (const file of files) {
        for (const used of usesOf(file)) {
          const target = roomOf(used)
          assert.ok(target === room || arrows[room]?.includes(target), `${file.path} imports ${used.path}.`)
        }
      }
    })
  }

  test('rules know neither HTTP nor SQL', () => {
    for (const path of rules) {
      const source = byPath.get(path)
      assert.ok(source, `${path} is gone: keep the list of rules current.`)
      for (const used of usesOf(source)) assert.ok(rules.includes(used.path), `${path} imports ${used.path}.`)
      const packages = importsOf(source).filter((name) => !name.startsWith('.'))
      for (const name of packages) assert.match(name, /^node:(crypto|zlib)$/, `${path} imports ${name}.`)
    }
  })

  test('no file needs itself, by whatever way', () => {
    assert.deepEqual(
      cycles(sources, usesOf, ({ path }) => path),
      [],
    )
  })

  test('no feature needs itself by way of another', () => {
    const needs = (room: string) =>
      [...new Set((filesOfRoom.get(room) ?? []).flatMap(usesOf).map(roomOf))].filter(
        (other) => other !== room,
      )
    assert.deepEqual(
      cycles(features, needs, (room) => room),
      [],
    )
  })

  test('the time is read in one place only', () => {
    for (const { path, text } of sources) {
      if (path !== 'clock.ts') assert.doesNotMatch(text, /Date\.now|new Date\(\)/, `${path} reads the time.`)
    }
  })

  test('the environment is read at the door only', () => {
    for (const { path, room, text } of sources) {
      if (path === 'main.ts' || path === 'config.ts' || room === 'commands') continue
      assert.doesNotMatch(text, /process\.env/, `${path} reads the environment.`)
    }
  })
})

describe('the files of src', () => {
  test('are named after a subject', () => {
    for (const { path } of sources) {
      assert.doesNotMatch(path, /(?:^|\/)index\.ts$/, `${path} is a barrel.`)
      assert.doesNotMatch(
        path,
        /(?:utils?|helpers?|common|managers?)(?:\.ts|\/)/i,
        `${path} is named after nothing.`,
      )
    }
  })

  test(`have at most ${linesMax} lines`, () => {
    for (const { path, text } of sources) {
      const lines = text.split('\n').length - 1
      assert.ok(lines <= linesMax, `${path} has ${lines} lines: it has more than one subject.`)
    }
  })

  test('import each other by their full names', () => {
    for (const source of sources) {
      for (const name of importsOf(source)) {
        if (name.startsWith('.')) assert.match(name, /\.ts$/, `${source.path} imports ${name}.`)
      }
    }
  })

  test('export only what they make themselves', () => {
    for (const { path, text } of sources) assert.doesNotMatch(text, /^export [^'"`;=(]*from '/m, path)
  })
})

describe('this test', () => {
  test('sees imports of every kind', () => {
    const text = `import a from './a.ts'
import type { B } from './b.ts'
import {
  c,
  type D,
} from './c.ts'
export { e } from './e.ts'
import './f.ts'
const g = () => import('./g.ts')
const text = "from './nothing.ts'"
`
    assert.deepEqual(importsOf({ text }), ['./a.ts', './b.ts', './c.ts', './e.ts', './f.ts', './g.ts'])
    const counted = sources.flatMap(importsOf).length
    const written = sources.flatMap(({ text }) => text.match(/\bfrom '|^import '|import\('/gm) ?? []).length
    assert.equal(counted, written)
  })

  test('sees cycles', () => {
    const graph: Record<string, string[]> = { a: ['b'], b: ['c'], c: ['b'], d: ['a'] }
    assert.deepEqual(
      cycles(Object.keys(graph), (node) => graph[node] ?? [], String),
      ['b -> c -> b'],
    )
  })
})

/** Every cycle that a walk from each node meets, told once. */
function cycles<T>(
  nodes: readonly T[],
  next: (node: T) => readonly T[],
  name: (node: T) => string,
): string[] {
  const found: string[] = []
  const done = new Set<T>()
  const walk = (node: T, way: T[]): void => {
    const start = way.indexOf(node)
    if (start !== -1) found.push([...way.slice(start), node].map(name).join(' -> '))
    if (start !== -1 || done.has(node)) return
    for (const other of next(node)) walk(other, [...way, node])
    done.add(node)
  }
  for (const node of nodes) walk(node, [])
  return found
}
