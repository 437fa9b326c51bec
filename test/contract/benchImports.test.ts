import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'
import { benchSources, importsOf, type Source } from '../support/sources.ts'

/** Folders and top-level files of bench/, from top to bottom. Each may import those below it. */
const layers = [
  'bench.ts',
  'compareCheckouts.ts',
  'check.ts',
  'report',
  'rows',
  'measure',
  'options.ts',
  'bare',
  'servers',
  'data',
  'load',
  'counting.ts',
  'host',
  'peers',
  'targets.ts',
  'listingTargets.ts',
  'statistics.ts',
  'bun.d.ts',
]

const paths = benchSources.map(({ path }) => path)

const layerOf = (path: string) => layers.indexOf(path.split('/')[0] ?? '')

const importsInBench = (source: Source) =>
  importsOf(source)
    .filter((name) => name.startsWith('.'))
    .map((name) => posix.join(posix.dirname(source.path), name))
    .filter((path) => !path.startsWith('../'))

test('the imports of bench/ point from higher to lower layers', () => {
  for (const source of benchSources) {
    assert.notEqual(layerOf(source.path), -1, `bench/${source.path} is in no layer of this test.`)
    for (const imported of importsInBench(source)) {
      assert.ok(paths.includes(imported), `${source.path} imports ${imported}, which does not exist.`)
      assert.ok(layerOf(imported) >= layerOf(source.path), `${source.path} imports ${imported}.`)
    }
  }
})
