import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildArtifacts, consolePackages } from '../../tools/buildArtifacts.ts'
import { targetOf } from '../../tools/buildBinary.ts'
import { useInstallation } from '../support/installation.ts'
import { folderFor, SuiteCleanup } from '../support/servers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const { version, dependencies } = readJson(join(root, 'package.json'))

// There is no executable for other systems.
describe('the artifacts', () => {
  if (process.platform !== 'linux') return
  const executable = `petstore-${version}-${targetOf()}`
  const cleanup = new SuiteCleanup()
  let folder: string
  before(async () => {
    folder = folderFor(cleanup)
    await buildArtifacts(folder, [targetOf()], 'none')
  })
  after(() => cleanup.end())

  test('the executable runs in an empty folder without a search path', async (t) => {
    await useInstallation(t, { program: join(folder, executable), cwd: folderFor(t), path: '' })
  })

  test('the npm package has JavaScript, console and guides, and nothing of the development', () => {
    const tarball = join(folder, `petstore-${version}.tgz`)
    const packed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n')
    for (const file of ['bin/petstore.js', 'dist/main.js', 'docs/guides/running.md', 'LICENSE'])
      assert.ok(packed.includes(`package/${file}`), file)
    assert.ok(packed.includes('package/console/dist/index.html'))
    assert.ok(packed.some((file) => /^package\/console\/dist\/assets\/.*\.js$/.test(file)))
    assert.ok(!packed.some((file) => /^package\/(test|bench|tools|src|artifacts|node_modules)\//.test(file)))
  })

  // Systems other than Debian do not have the program that builds it.
  const debianTest = existsSync('/usr/bin/dpkg-deb') ? test : () => {}
  debianTest(
    'the Debian package has the executable, a unit for it and private settings',
    (t: TestContext) => {
      const deb = join(folder, `${executable}.deb`)
      const unpacked = folderFor(t)
      execFileSync('dpkg-deb', ['-x', deb, unpacked])
      const program = join(unpacked, 'usr/bin/petstore')
      assert.equal(execFileSync(program, ['--version'], { encoding: 'utf8' }), `${version}\n`)
      const unit = readFileSync(join(unpacked, 'usr/lib/systemd/system/petstore.service'), 'utf8')
      assert.match(unit, /^ExecStart=\/usr\/bin\/petstore serve$/m)
      assert.match(unit, /^EnvironmentFile=\/etc\/default\/petstore$/m)
      assert.doesNotMatch(unit, /\/opt|\/etc\/petstore|Cache/)
      assert.equal(statSync(join(unpacked, 'etc/default/petstore')).mode & 0o777, 0o600)
      const field = (name: string) => execFileSync('dpkg-deb', ['-f', deb, name], { encoding: 'utf8' }).trim()
      assert.deepEqual(
        [field('Package'), field('Version'), field('Architecture')],
        ['petstore', version.replace('-', '~'), process.arch === 'x64' ? 'amd64' : 'arm64'],
      )
    },
  )

  test('the SBOM lists what is delivered', () => {
    const { bomFormat, metadata, components } = readJson(join(folder, 'sbom.cdx.json'))
    assert.deepEqual([bomFormat, metadata.component.name], ['CycloneDX', 'petstore'])
    const names = components.map(({ name }: { name: string }) => name)
    for (const name of [...Object.keys(dependencies), ...consolePackages, 'node'])
      assert.ok(names.includes(name), name)
    for (const name of ['typescript', 'vite', 'petstore-node']) assert.ok(!names.includes(name), name)
    for (const file of globSync('console/src/**/*.{ts,tsx}', { cwd: root }))
      for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(
        /from '(@[^/']+\/[^/']+|[^@./'][^/']*)/g,
      ))
        assert.ok(consolePackages.includes(name), `${file} imports ${name}`)
  })

  test('the checksums are those of all files, and the origin is named', () => {
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: folder })
    const listed = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)
    const names = readdirSync(folder).filter((name) => name !== 'SHA256SUMS')
    assert.deepEqual(
      [...listed].map(([, name]) => name),
      names.sort(),
    )
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
    const provenance = readFileSync(join(folder, 'PROVENANCE.md'), 'utf8')
    for (const text of [commit, process.version, 'npm run build:artifacts'])
      assert.ok(provenance.includes(text), text)
    assert.equal(
      readFileSync(join(folder, 'openapi.json'), 'utf8'),
      readFileSync(join(root, 'openapi.json'), 'utf8'),
    )
  })
})
