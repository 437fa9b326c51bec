/**
 * Makes a release: `npm run release -- X.Y.Z [--dry-run]`. See docs/releasing.md.
 *
 * Everything that can fail happens before the commit. A failure restores the working tree, which was clean before.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readJson, root, run, sha256 } from './project.ts'

const branch = 'main'
/** Digests of released files, and the files that a release adds to it. */
const frozenFile = 'test/fixtures/frozen.json'
const migrationPattern = 'src/database/migrations/*.sql'
const frozenPatterns = [
  'docs/openapi/*.json',
  migrationPattern,
  'test/fixtures/{schema-*.txt,database-*.sql}',
]
const unreleasedHeading = '## [Unreleased]\n'
/** Files that name the image, and with it the version. */
const deploymentPaths = ['Dockerfile', 'compose.yaml', 'deploy', 'docs/guides']
const imageVersion = /(\bpetstore:|^ARG VERSION=)\d[\w.-]*/gm
/** The name of a job, which cannot contain dots. */
const jobVersion = /(\bpetstore-migrate-)\d[\w-]*/g

const git = (...args: string[]): string => run('git', ...args)
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const write = (path: string, text: string): void => writeFileSync(`${root}${path}`, text)
const digestOf = (path: string): string => sha256(`${root}${path}`)
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

/** The numbers of a version X.Y.Z, or undefined for any other text. */
function parseVersion(text: string): number[] | undefined {
  const match = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text)
  return match?.slice(1).map(Number)
}

function isNewer(version: number[], other: number[]): boolean {
  const index = version.findIndex((part, at) => part !== other[at])
  return index !== -1 && Number(version[index]) > Number(other[index])
}

/** The text between the heading of the unreleased changes and the next version. */
function unreleasedNotes(changelog: string): string {
  const start = changelog.indexOf(unreleasedHeading)
  if (start === -1) throw new Error('CHANGELOG.md has no section "## [Unreleased]".')
  const rest = changelog.slice(start + unreleasedHeading.length)
  const end = rest.search(/^## /m)
  return end === -1 ? rest : rest.slice(0, end)
}

function checkRelease(version: string): void {
  const parsed = parseVersion(version)
  if (parsed === undefined) throw new Error(`"${version}" is not a version of the form X.Y.Z.`)
  const current = git('branch', '--show-current')
  if (current !== branch) throw new Error(`Releases are made on ${branch}, not on "${current}".`)
  if (git('status', '--porcelain') !== '')
    throw new Error('The working tree has changes. Commit or remove them first.')
  for (const tag of linesOf(git('tag', '--list', 'v*'))) {
    const released = parseVersion(tag.slice(1))
    if (released !== undefined && !isNewer(parsed, released))
      throw new Error(`Version ${version} is not newer than ${tag}.`)
  }
  const frozen: Record<string, string> = readJson(frozenFile)
  for (const [path, digest] of Object.entries(frozen))
    if (digestOf(path) !== digest) throw new Error(`${path} belongs to an earlier release and has changed.`)
  // Later versions are tested on the databases of each schema.
  if (globSync(migrationPattern, { cwd: root }).some((path) => !(path in frozen)))
    for (const path of ['sqlite', 'postgres'].map(
      (engine) => `test/fixtures/database-${version}.${engine}.sql`,
    ))
      if (!existsSync(`${root}${path}`))
        throw new Error(
          `There is no ${path}. Run "npm run fixture -- ${version}" and commit the result first.`,
        )
  if (!/^- /m.test(unreleasedNotes(read('CHANGELOG.md'))))
    throw new Error('CHANGELOG.md lists no unreleased changes.')
}

const filesWithImage = (): string[] =>
  linesOf(git('ls-files', '--', ...deploymentPaths)).filter((path) =>
    [imageVersion, jobVersion].some((version) => read(path).search(version) !== -1),
  )

function updateFiles(version: string, date: string): void {
  const options = ['--no-git-tag-version', '--allow-same-version', '--ignore-scripts']
  for (const folder of ['.', 'client']) run('npm', '--prefix', folder, 'version', version, ...options)
  const withVersion = (text: string): string =>
    text
      .replace(imageVersion, (_, prefix: string) => `${prefix}${version}`)
      .replace(jobVersion, (_, prefix: string) => `${prefix}${version.replaceAll('.', '-')}`)
  for (const path of filesWithImage()) write(path, withVersion(read(path)))
  write(
    'CHANGELOG.md',
    read('CHANGELOG.md').replace(unreleasedHeading, `${unreleasedHeading}\n## [${version}] - ${date}\n`),
  )
  run('npm', 'run', '--silent', 'openapi')
  if (git('status', '--porcelain', '--', 'openapi.json') !== '')
    throw new Error('openapi.json is not current. Run "npm run openapi" and commit the result first.')
  freeze(version)
}

/**
 * Records the OpenAPI document, unless it is the one of an earlier release, and the digests of what must not change after
 * this release. test/contract/frozenFiles.test.ts compares them.
 */
function freeze(version: string): void {
  const document = read('openapi.json')
  const released = Object.keys(readJson(frozenFile))
  const isRecorded = released.some((path) => path.startsWith('docs/openapi/') && read(path) === document)
  if (!isRecorded) write(`docs/openapi/${version}.json`, document)
  const paths = globSync(frozenPatterns, { cwd: root }).sort()
  const digests = Object.fromEntries(paths.map((path) => [path, digestOf(path)]))
  write(frozenFile, `${JSON.stringify(digests, null, 2)}\n`)
}

function release(version: string, date: string): void {
  try {
    updateFiles(version, date)
    git('add', '--all')
    git('commit', '--quiet', '--message', `Release ${version}`)
  } catch (error) {
    git('reset', '--quiet', '--hard')
    git('clean', '--quiet', '--force', '--', 'docs/openapi')
    throw error
  }
  git('tag', '--annotate', `v${version}`, '--message', `Petstore ${version}`)
  console.log(`Committed and tagged v${version}. To write the artifacts: npm run build:artifacts`)
  console.log(`Nothing has been pushed. To publish: git push --atomic origin ${branch} v${version}`)
}

function describeRelease(version: string, date: string): void {
  console.log(`Dry run: nothing is changed. A release of ${version} would`)
  console.log(`- move these changes in CHANGELOG.md to "## [${version}] - ${date}":`)
  console.log(unreleasedNotes(read('CHANGELOG.md')).trim().replaceAll(/^/gm, '    '))
  const files = ['package.json', 'package-lock.json', 'client/package.json', ...filesWithImage()]
  console.log(`- set the version in ${files.join(', ')}`)
  console.log('- check openapi.json, and freeze it together with the migrations and the schema')
  console.log(`- commit "Release ${version}" and tag it v${version}`)
}

try {
  const { values, positionals } = parseArgs({
    options: { 'dry-run': { type: 'boolean' } },
    allowPositionals: true,
  })
  const [version, ...others] = positionals
  if (version === undefined || others.length > 0)
    throw new Error('Usage: npm run release -- X.Y.Z [--dry-run]')
  checkRelease(version)
  const date = new Date().toISOString().slice(0, 10)
  if (values['dry-run']) describeRelease(version, date)
  else release(version, date)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
