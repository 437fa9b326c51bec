import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildArtifacts } from '../../tools/buildArtifacts.ts'
import { targetOf } from '../../tools/buildBinary.ts'
import { consolePackages } from '../../tools/delivered.ts'
import { useInstallation } from '../support/installation.ts'
import { folderFor, SuiteCleanup } from '../support/servers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const { name, version, dependencies } = readJson(join(root, 'package.json'))

const path = [dirname(process.execPath), process.env.PATH].join(delimiter)
const env = { ...process.env, PATH: path }
// There is no executable for other systems.
const targets = process.platform === 'linux' ? [targetOf()] : []
const linuxTest = targets.length > 0 ? test : () => {}
type Locked = { dev?: boolean; link?: boolean }

/** Installs the package with the locked versions of its dependencies, which `npm ci` has put into the cache of npm. */
function install(folder: string, tarball: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const { version, dependencies, bin } = lock.packages['']
  const needed = Object.entries<Locked>(lock.packages).filter(
    ([name, { dev, link }]) => name.startsWith('node_modules/') && !dev && !link,
  )
  const project = { name: 'project', version: '1.0.0', dependencies: { [name]: `file:${tarball}` } }
  const packages = {
    '': project,
    [`node_modules/${name}`]: { version, resolved: `file:${tarball}`, dependencies, bin },
    ...Object.fromEntries(needed),
  }
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
  const args = ['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', args, { cwd: folder, env })
}

describe('the artifacts', () => {
  const executable = `petstore-${version}-${targets[0]}`
  const cleanup = new SuiteCleanup()
  let folder: string
  before(async () => {
    folder = folderFor(cleanup)
    await buildArtifacts(folder, targets, 'none')
  })
  after(() => cleanup.end())

  linuxTest('the executable runs in an empty folder without a search path', async (t: TestContext) => {
    await useInstallation(t, { program: join(folder, executable), cwd: folderFor(t), path: '' })
  })

  test('the npm package runs in an empty project', async (t) => {
    const project = join(folderFor(t), 'project')
    install(project, join(folder, `petstore-service-server-${version}.tgz`))
    const program = join(project, 'node_modules/.bin/petstore')
    await useInstallation(t, { program, cwd: project, path })
    const npx = spawnSync('npx', ['--no', '--', 'petstore', 'help'], { cwd: project, env, encoding: 'utf8' })
    assert.match(npx.stdout, /^Usage: petstore /, npx.stderr)
  })

  test('the npm package says which Node it needs', (t) => {
    const unpacked = folderFor(t)
    execFileSync('tar', ['-xzf', join(folder, `petstore-service-server-${version}.tgz`), '-C', unpacked])
    const oldNode = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.1.0"})'
    const args = ['--import', oldNode, 'package/bin/petstore.js', 'serve']
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: unpacked, encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /^Petstore requires Node 24 or newer.*Install a newer Node/)
  })

  test('the npm package has JavaScript, console and guides, and nothing of the development', () => {
    const tarball = join(folder, `petstore-service-server-${version}.tgz`)
    const packed = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n')
    for (const file of ['bin/petstore.js', 'dist/main.js', 'docs/guides/running.md', 'LICENSE'])
      assert.ok(packed.includes(`package/${file}`), file)
    assert.ok(packed.includes('package/console/dist/index.html'))
    assert.ok(packed.some((file) => /^package\/console\/dist\/assets\/.*\.js$/.test(file)))
    assert.ok(!packed.some((file) => file.endsWith('.ts')))
    assert.ok(!packed.some((file) => /^package\/(test|bench|tools|src|artifacts|node_modules)\//.test(file)))
  })

  // Systems other than Debian do not have the program that builds it.
  const debianTest = existsSync('/usr/bin/dpkg-deb') ? linuxTest : () => {}
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
      const licenses = readFileSync(join(unpacked, 'usr/share/doc/petstore/sharp-wasm32/README.md'), 'utf8')
      assert.match(licenses, /libvips +\| LGPL/)
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
    for (const name of [...Object.keys(dependencies), ...consolePackages, '@img/sharp-wasm32', 'node'])
      assert.ok(names.includes(name), name)
    for (const name of ['typescript', 'vite', 'petstore-node']) assert.ok(!names.includes(name), name)
    for (const file of globSync('console/src/**/*.{ts,tsx}', { cwd: root }))
      for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(
        /from '(@[^/']+\/[^/']+|[^@./'][^/']*)/g,
      ))
        assert.ok(consolePackages.includes(name), `${file} imports ${name}`)
  })

  test('the checksums are those of all files, and the origin is named', () => {
    const names = readdirSync(folder).filter((name) => name !== 'SHA256SUMS')
    const digestOf = (name: string) =>
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')
    const sums = names.sort().map((name) => `${digestOf(name)}  ${name}\n`)
    assert.equal(readFileSync(join(folder, 'SHA256SUMS'), 'utf8'), sums.join(''))
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
