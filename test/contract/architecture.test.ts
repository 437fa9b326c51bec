import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, test } from 'node:test'
import { benchSources, importsOf, type Source, sources } from '../support/sources.ts'

/** Every folder with operations, or with web pages of its own. */
const features = [
  ...new Set(sources.filter(({ path }) => /(?:outes|\/pages)\.ts$/.test(path)).map(({ folder }) => folder)),
]

/** What any part may import. */
const everywhere = [
  'actor',
  'assets',
  'clock',
  'controlCharacters',
  'editDistance',
  'maybePromise',
  'nodeHttp',
]
const foundation = [...everywhere, 'api', 'database']
/** Everything except the commands and what starts them. */
const parts = [
  ...foundation,
  ...features,
  'auth',
  'banReporter',
  'config',
  'inProgress',
  'limits',
  'openapi',
  'operations',
  'pages',
  'records',
  'resources',
  'restoreDetector',
  'schedule',
  'server',
  'startup',
  'telemetry',
  'webPages',
]

/** Which folders, and files at the top of src/, each of them may import. */
const arrows: Record<string, readonly string[]> = {
  main: ['assets', 'commands', 'config'],
  commands: [...parts, 'service'],
  service: [...parts, 'bounds'],
  bounds: ['database', ...features, 'schedule'],
  banReporter: [...features, ...foundation, 'telemetry'],
  inProgress: ['database', 'limits', 'server'],
  restoreDetector: ['database'],
  schedule: [...features, ...foundation, 'limits', 'restoreDetector', 'telemetry'],
  operations: [...features, ...foundation, 'auth', 'config', 'limits'],
  webPages: [...features, ...foundation, 'config', 'openapi', 'pages', 'telemetry'],
  resources: [...features, ...foundation, 'records'],
  records: foundation,
  // PETSTORE_ADMIN_KEY is checked like any other API key.
  config: ['auth', 'editDistance'],
  pages: [...foundation, 'config', 'openapi', 'telemetry'],
  telemetry: [...foundation, 'server'],
  ...Object.fromEntries(
    features.map((feature) => [feature, [...features, ...foundation, 'auth', 'limits', 'pages', 'records']]),
  ),
  auth: [...foundation, 'limits'],
  limits: foundation,
  openapi: ['api', 'nodeHttp'],
  server: [...everywhere, 'api'],
  api: [...everywhere, 'database'],
  database: everywhere,
  startup: [],
  assets: [],
  maybePromise: [],
  nodeHttp: [],
  clock: [],
  controlCharacters: [],
  editDistance: [],
  actor: [],
}

const singular = (name: string) => name.replace(/ies$/, 'y').replace(/s$/, '')
/** Rules: pure functions and types, without HTTP and SQL. Those of `pets/` are in `pets/pet.ts`. */
const rules = [
  ...sources
    .map(({ path }) => path)
    .filter((path) => features.some((name) => path === `${name}/${singular(name)}.ts`)),
  'auth/apiKey.ts',
  'limits/plans.ts',
  'limits/window.ts',
]

const filesPerFolderMax = 20

const partOf = ({ folder, path }: Source) => (folder === '' ? path.replace(/\.ts$/, '') : folder)
const byPath = new Map(sources.map((source) => [source.path, source]))

function localImports(source: Source, all: ReadonlyMap<string, Source>): Source[] {
  return importsOf(source)
    .filter((name) => name.startsWith('.'))
    .map((name) => posix.join(posix.dirname(source.path), name))
    .flatMap((path) => all.get(path) ?? [])
}

const filesOf = Map.groupBy(sources, partOf)

describe('imports in src/', () => {
  test('every part has a rule', () => {
    for (const part of filesOf.keys())
      assert.ok(part in arrows, `src/${part} is missing in "arrows" of this test.`)
  })

  test('node:http is imported for its types only, because src/nodeHttp.ts is faster', () => {
    for (const { path, text } of sources)
      assert.doesNotMatch(text, /^import (?!type ).* from 'node:http'$/m, `${path} imports node:http.`)
  })

  for (const [part, files] of filesOf) {
    test(`${part} imports only what it may`, () => {
      for (const file of files) {
        for (const imported of localImports(file, byPath)) {
          const target = partOf(imported)
          assert.ok(
            target === part || arrows[part]?.includes(target),
            `src/${file.path} imports ${imported.path}. It may import: ${arrows[part]?.join(', ')}.`,
          )
        }
      }
    })
  }

  test('rules import neither HTTP nor SQL', () => {
    for (const path of rules) {
      const source = byPath.get(path)
      assert.ok(source, `src/${path} does not exist: update the list of rules in this test.`)
      for (const imported of localImports(source, byPath))
        assert.ok([...rules, 'actor.ts'].includes(imported.path), `${path} imports ${imported.path}.`)
      const packages = importsOf(source).filter((name) => !name.startsWith('.'))
      for (const name of packages) assert.match(name, /^node:(crypto|zlib)$/, `${path} imports ${name}.`)
    }
  })

  test('the folders have no cycle', () => {
    const imports = (part: string) => {
      const imported = (filesOf.get(part) ?? []).flatMap((file) => localImports(file, byPath)).map(partOf)
      return [...new Set(imported)].filter((other) => other !== part)
    }
    assert.deepEqual(cycles([...filesOf.keys()], imports, String), [])
  })

  test('only assets.ts locates files of the program, which the executable contains', () => {
    for (const { path, text } of sources)
      if (path !== 'assets.ts') assert.doesNotMatch(text, /\bimport\.meta\b/, path)
  })

  test('name existing files, with their extension', () => {
    for (const source of sources) {
      for (const name of importsOf(source).filter((name) => name.startsWith('.'))) {
        assert.match(name, /\.ts$/, `${source.path} imports ${name}.`)
        const path = posix.join(posix.dirname(source.path), name)
        assert.ok(byPath.has(path), `${source.path} imports ${path}.`)
      }
    }
  })
})

describe('api/ and database/ know no feature', () => {
  /** HTTP and SQL have events and keys of their own, `store` is also a verb, and `import` a keyword. */
  const otherMeanings = ['events', 'keys', 'store', 'imports']
  /** The types of all tables, and the names of the migrations. */
  const exempt = ['database/tables.ts', 'database/migrate.ts']
  const bothCases = (word: string) => [
    `(?<![A-Za-z])${word}`,
    `(?<![A-Z])${word[0]?.toUpperCase()}${word.slice(1)}`,
  ]
  const words = features
    .filter((feature) => !otherMeanings.includes(feature))
    .flatMap((feature) => [feature, feature.replace(/ies$/, 'y').replace(/s$/, '')])
  // The query builder has `orderBy`.
  const named = new RegExp(`(?:${words.flatMap(bothCases).join('|')})(?![a-z]|By\\b)`)

  for (const { path, folder, text } of sources) {
    if (!['api', 'database'].includes(folder) || exempt.includes(path)) continue
    test(path, () => {
      for (const line of withoutComments(text).split('\n')) assert.doesNotMatch(line, named)
    })
  }

  test('this test finds their names in code', () => {
    for (const code of [
      'pet_not_found',
      'selectFrom("orders")',
      'type PetStatus',
      'orderId',
      'categories: 1',
    ])
      assert.match(code, named)
    for (const code of ['.orderBy(', 'ORDER BY', 'petstore.db', 'recorder']) assert.doesNotMatch(code, named)
  })
})

describe('the files of src/ and bench/', () => {
  for (const [name, all] of [
    ['src', sources],
    ['bench', benchSources],
  ] as const) {
    test(`${name}: no file imports itself through others`, () => {
      const paths = new Map(all.map((source) => [source.path, source]))
      const imports = (source: Source) => localImports(source, paths)
      assert.deepEqual(
        cycles(all, imports, ({ path }) => path),
        [],
      )
    })

    test(`${name}: a folder has at most ${filesPerFolderMax} files`, () => {
      const folders = Map.groupBy(all, ({ path }) => posix.dirname(path))
      for (const [folder, files] of folders)
        assert.ok(files.length <= filesPerFolderMax, `${name}/${folder} has ${files.length} files.`)
    })

    test(`${name}: only public interfaces of Node, Bun and packages are used`, () => {
      for (const { path, text } of all) {
        const code = withoutComments(text)
        for (const pattern of privateAccess) assert.doesNotMatch(code, pattern, `${name}/${path}`)
      }
    })
  }

  test('are named after a subject', () => {
    for (const { path } of sources) {
      assert.doesNotMatch(path, /(?:^|\/)index\.ts$/, `${path} is a barrel.`)
      assert.doesNotMatch(path, /(?:utils?|helpers?|common|managers?)(?:\.ts|\/)/i, `${path} has no subject.`)
    }
  })

  test('are all on the map in ARCHITECTURE.md', () => {
    const mapped = pathsOnMap()
    const missing = sources.filter(({ path }) => !mapped.includes(path)).map(({ path }) => path)
    assert.deepEqual(missing, [], 'These are missing in ARCHITECTURE.md.')
    const top = new URL('../../', import.meta.url)
    const gone = mapped.filter(
      (path) => !existsSync(new URL(`src/${path}`, top)) && !existsSync(new URL(path, top)),
    )
    assert.deepEqual(gone, [], 'ARCHITECTURE.md names what does not exist.')
  })

  test('export only what they define', () => {
    for (const { path, text } of sources) assert.doesNotMatch(text, /^export [^'"`;=(]*from '/m, path)
  })

  test('read the time in clock.ts only', () => {
    for (const { path, text } of sources) {
      // The text of a script, which reads the clock of the browser.
      if (path === 'pages/referenceScript.ts') continue
      if (path !== 'clock.ts') assert.doesNotMatch(text, /Date\.now|new Date\(\)/, `${path} reads the time.`)
    }
  })

  test('read the environment in main.ts, config.ts and commands/ only', () => {
    for (const { path, folder, text } of sources) {
      if (path === 'main.ts' || path === 'config.ts' || folder === 'commands') continue
      assert.doesNotMatch(text, /process\.env/, `${path} reads the environment.`)
    }
  })
})

/** Fields, symbols and prototypes that are no documented interface and can change with any update. */
const privateAccess = [
  /\._[a-z]\w*/i,
  /['"[{ ]_(?:header|httpMessage|paused|handle|events)\b/,
  /\.symbols\b/,
  /\bgetOwnPropertySymbols\b/,
  /\.prototype\.\w+\.(?:call|apply)\b/,
  /\bhttpAllowHalfOpen\b/,
  /\bsocket\??\.parser\b/,
  /\bprocess\.binding\b/,
]

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')

/** In a row of the map, a name without a folder is in the folder of the name before it. */
function pathsOnMap(): string[] {
  const text = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8')
  const [, map = ''] = /\n## Files\n(.*?)\n## /s.exec(text) ?? []
  return map.split('\n### ').flatMap((section) => {
    const [, top = ''] = /^(\w+\/)\n/.exec(section) ?? []
    return [...section.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) => {
      let folder = ''
      return [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => {
        const start = name.lastIndexOf('/') + 1
        if (start > 0) folder = name.slice(0, start)
        return top + folder + name.slice(start)
      })
    })
  })
}

describe('this test', () => {
  test('finds imports of every kind', () => {
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

  test('finds cycles', () => {
    const graph: Record<string, string[]> = { a: ['b'], b: ['c'], c: ['b'], d: ['a'] }
    assert.deepEqual(
      cycles(Object.keys(graph), (node) => graph[node] ?? [], String),
      ['b -> c -> b'],
    )
  })

  test('finds private access', () => {
    for (const code of [
      'response._header = text',
      'type Head = { _header?: string }',
      'pino.symbols.streamSym',
      'NetServer.prototype.close.call(server)',
      'socket.parser?.resume()',
    ])
      assert.ok(
        privateAccess.some((pattern) => pattern.test(code)),
        code,
      )
  })
})

/** Every cycle that a walk from each node meets, once. */
function cycles<T>(
  nodes: readonly T[],
  next: (node: T) => readonly T[],
  name: (node: T) => string,
): string[] {
  const found: string[] = []
  const done = new Set<T>()
  const walk = (node: T, path: T[]): void => {
    const start = path.indexOf(node)
    if (start !== -1) found.push([...path.slice(start), node].map(name).join(' -> '))
    if (start !== -1 || done.has(node)) return
    for (const other of next(node)) walk(other, [...path, node])
    done.add(node)
  }
  for (const node of nodes) walk(node, [])
  return found
}
