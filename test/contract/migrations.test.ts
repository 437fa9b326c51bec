import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { migrations } from '../../src/database/migrate.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const engines = ['sqlite', 'postgres'] as const
const frozen = Object.keys(JSON.parse(readFileSync(`${root}test/fixtures/frozen.json`, 'utf8')))

/** The version, the subject and the engine in the name of a migration. */
const partsOf = (path: string) => /(\d{4})-[a-z-]+\.(sqlite|postgres)\.sql$/.exec(path)

/** The schema versions of the fixtures of an engine. */
const fixtureVersions = (engine: string): number[] =>
  globSync(`test/fixtures/database-*.${engine}.sql`, { cwd: root }).map((path) => {
    const rows = readFileSync(`${root}${path}`, 'utf8').matchAll(
      /^INSERT INTO \S*schema_migrations VALUES \((\d+),/gm,
    )
    return Math.max(...[...rows].map(([, version]) => Number(version)))
  })

describe('migrations', () => {
  const files = globSync('src/database/migrations/*', { cwd: root })

  test('are in files that are named after their version, a subject and the engine', () => {
    for (const file of files) assert.ok(partsOf(file), `${file} must be named NNNN-subject.ENGINE.sql.`)
  })

  for (const engine of engines)
    test(`have files of ${engine} for every version, and no others`, () => {
      const versions = files
        .map(partsOf)
        .filter((parts) => parts?.[2] === engine)
        .map((parts) => Number(parts?.[1]))
      assert.deepEqual(
        [...new Set(versions)].sort((a, b) => a - b),
        migrations.map((_, index) => index + 1),
      )
      const scripts = migrations.map((migration) => migration.script(engine))
      for (const file of files.filter((path) => partsOf(path)?.[2] === engine)) {
        const version = Number(partsOf(file)?.[1])
        const text = readFileSync(`${root}${file}`, 'utf8')
        assert.ok(scripts[version - 1]?.includes(text), `src/database/migrate.ts lacks ${file}.`)
      }
    })

  for (const engine of engines)
    test(`of a release have a database of ${engine} that later versions upgrade`, () => {
      const released = frozen.flatMap((path) => Number(partsOf(path)?.[1] ?? 0) || [])
      assert.ok(released.length > 0)
      const versions = fixtureVersions(engine)
      for (const version of new Set(released))
        assert.ok(
          versions.includes(version),
          `No test/fixtures/database-*.${engine}.sql has schema version ${version}: run "npm run fixture".`,
        )
    })
})
