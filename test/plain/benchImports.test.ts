import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { importsOf } from '../support/sources.ts'

const benchDir = fileURLToPath(new URL('../../bench/', import.meta.url))

/** Folders and top-level files of bench/, from top to bottom. Each may import those below it. */
const layers = [
  'bench',
  'compareCheckouts',
  'check',
  'report',
  'rows',
  'measure',
  'options',
  'bare',
  'servers',
  'data',
  'load',
  'counting',
  'host',
  'peers',
  'targets',
  'statistics',
]

const files = readdirSync(benchDir, { withFileTypes: true })
  .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules' && name !== 'results')
  .flatMap((entry) =>
    entry.isDirectory()
      ? readdirSync(join(benchDir, entry.name)).map((name) => `${entry.name}/${name}`)
      : [entry.name],
  )
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))

const layerOf = (path: string) => (path.split('/')[0] ?? '').replace(/\.ts$/, '')

const importsByFile = new Map(
  files.map((path) => {
    const text = readFileSync(join(benchDir, path), 'utf8')
    const local = importsOf({ text }).filter((name) => name.startsWith('.'))
    const targets = local.map((name) => posix.join(posix.dirname(path), name))
    return [path, targets.filter((target) => !target.startsWith('../'))] as const
  }),
)

describe('the imports of bench/', () => {
  test('resolve to files of bench/ in a known layer', () => {
    assert.ok(files.length > 20)
    for (const [path, targets] of importsByFile) {
      assert.ok(layers.includes(layerOf(path)), `${path} is in no layer of this test.`)
      for (const target of targets) assert.ok(files.includes(target), `${path} imports ${target}.`)
    }
  })

  test('point from higher to lower layers', () => {
    for (const [path, targets] of importsByFile) {
      const layer = layers.indexOf(layerOf(path))
      for (const target of targets)
        assert.ok(layers.indexOf(layerOf(target)) >= layer, `${path} imports ${target}.`)
    }
  })

  test('have no cycle', () => {
    const finished = new Set<string>()
    const visit = (path: string, chain: readonly string[]): void => {
      assert.ok(!chain.includes(path), `Import cycle: ${[...chain, path].join(' -> ')}`)
      if (finished.has(path)) return
      for (const target of importsByFile.get(path) ?? []) visit(target, [...chain, path])
      finished.add(path)
    }
    for (const path of files) visit(path, [])
  })
})
