import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { useInstallation } from '../support/installation.ts'
import { folderFor } from '../support/servers.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const path = [dirname(process.execPath), process.env.PATH].join(delimiter)
const env = { ...process.env, PATH: path }
type Locked = { dev?: boolean; devOptional?: boolean; link?: boolean }

/** Packs the working tree. The console has been built before the tests. */
function pack(folder: string): string {
  execFileSync('npm', ['run', '--silent', 'prepack'], { cwd: root, env })
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    env,
  })
  return join(folder, String(globSync('*.tgz', { cwd: folder })))
}

/** Installs the package with the locked versions of its dependencies, which `npm ci` has put into the cache of npm. */
function install(folder: string, tarball: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const { version, dependencies, bin } = lock.packages['']
  const needed = Object.entries<Locked>(lock.packages).filter(
    ([name, { dev, devOptional, link }]) => name.startsWith('node_modules/') && !dev && !devOptional && !link,
  )
  const project = { name: 'project', version: '1.0.0', dependencies: { petstore: `file:${tarball}` } }
  const packages = {
    '': project,
    'node_modules/petstore': { version, resolved: `file:${tarball}`, dependencies, bin },
    ...Object.fromEntries(needed),
  }
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify(project))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
  const args = ['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', args, { cwd: folder, env })
}

describe('the npm package', () => {
  test('runs in an empty project', async (t) => {
    const folder = folderFor(t)
    const project = join(folder, 'project')
    install(project, pack(folder))
    const program = join(project, 'node_modules/.bin/petstore')
    await useInstallation(t, { program, cwd: project, path })
    const npx = spawnSync('npx', ['--no', '--', 'petstore', 'help'], { cwd: project, env, encoding: 'utf8' })
    assert.match(npx.stdout, /^petstore <command>/, npx.stderr)
    assert.deepEqual(globSync('node_modules/petstore/**/*.ts', { cwd: project }), [])
  })

  test('says which Node it needs', () => {
    const oldNode = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.1.0"})'
    const args = ['--import', oldNode, 'bin/petstore.js', 'serve']
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(stderr, /^Petstore requires Node 24 or newer/)
  })
})
