import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/engine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const version = '99.1.0'
const frozenPatterns = [
  'src/database/migrations/*.sql',
  'test/fixtures/schema-*.txt',
  'test/fixtures/database-*.sql',
]
const fixtures = ['sqlite', 'postgres'].map((engine) => `test/fixtures/database-${version}.${engine}.sql`)
const changelog = `# Changelog

## [Unreleased]

### Added

- A change.

## [99.0.0] - 2026-01-02

### Added

- An earlier change.
`

const folders: string[] = []
const folder = (): string => {
  const path = temporaryFolder()
  folders.push(path)
  return path
}

/** Without the settings of this user and of the npm that runs the tests, and without the network. */
const env = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|GIT_|PETSTORE_)/i.test(name)),
  ),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  npm_config_offline: 'true',
}
const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', args, { cwd, env, encoding: 'utf8' }).trim()
const stateOf = (cwd: string) => ({
  head: git(cwd, 'rev-parse', 'HEAD'),
  tags: git(cwd, 'tag'),
  status: git(cwd, 'status', '--porcelain'),
})

/** A repository with the files of the working tree and a short changelog. */
let origin: string
before(() => {
  origin = folder()
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  })
  for (const file of files.split('\0'))
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(origin, file))
  writeFileSync(join(origin, 'CHANGELOG.md'), changelog)
  writeFileSync(join(origin, 'test/fixtures/frozen.json'), '{}\n')
  for (const file of fixtures) writeFileSync(join(origin, file), '-- A database.\n')
  git(origin, 'init', '--quiet', '--initial-branch', 'main')
  git(origin, 'add', '--all')
  git(origin, 'commit', '--quiet', '--message', 'Initial commit')
})
after(() => {
  for (const path of folders) rmSync(path, { recursive: true, force: true })
})

function clone(): string {
  const path = folder()
  git(path, 'clone', '--quiet', origin, '.')
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  // .gitignore names the folder; here it is a symbolic link.
  appendFileSync(join(path, '.git/info/exclude'), 'node_modules\n')
  return path
}

function release(cwd: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tools/release.ts', ...args], {
    cwd,
    env,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

describe('the release command', () => {
  test('commits, tags and freezes the interface and the schema, and pushes nothing', () => {
    const cwd = clone()
    const read = (path: string) => readFileSync(join(cwd, path), 'utf8')
    const originBefore = stateOf(origin)
    const { status, stdout, stderr } = release(cwd, version)
    assert.equal(status, 0, stderr)
    assert.match(stdout, /Nothing has been pushed/)
    assert.deepEqual(stateOf(origin), originBefore)

    assert.equal(git(cwd, 'log', '-1', '--format=%s'), `Release ${version}`)
    assert.equal(git(cwd, 'rev-list', '--count', 'origin/main..main'), '1')
    assert.equal(git(cwd, 'cat-file', '-t', `v${version}`), 'tag')
    assert.equal(git(cwd, 'rev-parse', `v${version}^{commit}`), git(cwd, 'rev-parse', 'HEAD'))
    assert.equal(git(cwd, 'status', '--porcelain'), '')

    const lock = JSON.parse(read('package-lock.json'))
    assert.equal(JSON.parse(read('package.json')).version, version)
    assert.deepEqual([lock.version, lock.packages[''].version], [version, version])
    assert.match(read('Dockerfile'), new RegExp(`^ARG VERSION=${version}$`, 'm'))
    assert.match(read('deploy/kubernetes/petstore.yaml'), new RegExp(`image: petstore:${version}$`, 'm'))
    for (const file of ['deploy/kubernetes/migrate.yaml', 'docs/guides/clusters.md'])
      assert.match(read(file), /\bpetstore-migrate-99-1-0$/m)
    const [, date = ''] = /^## \[99\.1\.0\] - (\d{4}-\d\d-\d\d)$/m.exec(read('CHANGELOG.md')) ?? []
    assert.ok(Math.abs(Date.parse(date) - Date.now()) < 2 * 86_400_000, date)
    const moved = `## [Unreleased]\n\n## [${version}] - ${date}\n`
    assert.equal(read('CHANGELOG.md'), changelog.replace('## [Unreleased]\n', moved))
    assert.equal(read(`docs/openapi/${version}.json`), read('openapi.json'))
    const frozen = JSON.parse(read('test/fixtures/frozen.json'))
    for (const path of [`docs/openapi/${version}.json`, ...globSync(frozenPatterns, { cwd })])
      assert.equal(frozen[path], createHash('sha256').update(read(path)).digest('hex'), path)
    assert.equal(JSON.parse(read('client/package.json')).version, version)

    // An unchanged OpenAPI document is not recorded again.
    commitFile(
      cwd,
      'CHANGELOG.md',
      read('CHANGELOG.md').replace('## [Unreleased]\n', '## [Unreleased]\n\n- A fix.\n'),
    )
    const next = release(cwd, '99.1.1')
    assert.equal(next.status, 0, next.stderr)
    assert.ok(!existsSync(join(cwd, 'docs/openapi/99.1.1.json')))
    assert.deepEqual(JSON.parse(read('test/fixtures/frozen.json')), frozen)
  })

  test('with --dry-run shows what it would do and changes nothing', () => {
    const cwd = clone()
    const stateBefore = stateOf(cwd)
    const { status, stdout, stderr } = release(cwd, version, '--dry-run')
    assert.equal(status, 0, stderr)
    for (const text of [`v${version}`, '- A change.', 'Dockerfile', 'client/package.json'])
      assert.ok(stdout.includes(text), text)
    assert.ok(!stdout.includes('An earlier change'))
    assert.deepEqual(stateOf(cwd), stateBefore)
  })

  const rejections: { name: string; prepare?(cwd: string): void; args?: string[]; error: RegExp }[] = [
    { name: 'no version', args: [], error: /^Usage: / },
    { name: 'an invalid version', args: ['v1.2'], error: /not a version of the form X\.Y\.Z/ },
    { name: 'an unknown option', args: [version, '--push'], error: /--push/ },
    {
      name: 'a branch other than main',
      prepare: (cwd) => void git(cwd, 'switch', '--quiet', '--create', 'other'),
      error: /made on main, not on "other"/,
    },
    {
      name: 'a changed working tree',
      prepare: (cwd) => appendFileSync(join(cwd, 'README.md'), 'A change.\n'),
      error: /working tree has changes/,
    },
    {
      name: 'an untracked file',
      prepare: (cwd) => writeFileSync(join(cwd, 'notes.txt'), ''),
      error: /working tree has changes/,
    },
    {
      name: 'a version that exists',
      prepare: (cwd) => void git(cwd, 'tag', `v${version}`),
      error: /not newer than v99\.1\.0/,
    },
    {
      name: 'a version older than the newest',
      prepare: (cwd) => void git(cwd, 'tag', 'v100.0.0'),
      error: /not newer than v100\.0\.0/,
    },
    {
      name: 'a changelog without unreleased changes',
      prepare: (cwd) =>
        commitFile(cwd, 'CHANGELOG.md', changelog.replace(/### Added\n\n- A change\.\n\n/, '')),
      error: /lists no unreleased changes/,
    },
    {
      name: 'a change of what an earlier release has frozen',
      prepare: (cwd) => commitFile(cwd, 'test/fixtures/frozen.json', '{"openapi.json":"another digest"}\n'),
      error: /openapi\.json belongs to an earlier release and has changed/,
    },
    {
      name: 'a new migration without a database of the release',
      prepare: (cwd) => {
        git(cwd, 'rm', '--quiet', fixtures[1] as string)
        git(cwd, 'commit', '--quiet', '--message', 'Remove a database')
      },
      error: /There is no .*\.postgres\.sql\. Run "npm run fixture -- 99\.1\.0"/,
    },
    {
      name: 'an OpenAPI document that is not current',
      prepare: (cwd) => commitFile(cwd, 'openapi.json', '{}\n'),
      error: /openapi\.json is not current/,
    },
  ]
  for (const { name, prepare, args = [version], error } of rejections) {
    test(`rejects ${name} and changes nothing`, () => {
      const cwd = clone()
      prepare?.(cwd)
      const stateBefore = stateOf(cwd)
      const { status, stderr } = release(cwd, ...args)
      assert.equal(status, 1)
      assert.match(stderr, error)
      assert.deepEqual(stateOf(cwd), stateBefore)
    })
  }
})

function commitFile(cwd: string, file: string, text: string): void {
  writeFileSync(join(cwd, file), text)
  git(cwd, 'commit', '--quiet', '--all', '--message', 'Change a file')
}
