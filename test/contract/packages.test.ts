import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

type Locked = {
  version?: string
  integrity?: string
  link?: boolean
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
  os?: string | string[]
  cpu?: string | string[]
}

const root = new URL('../../', import.meta.url)
const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'))
const locked = (path: string): [string, Locked][] => Object.entries(readJson(path).packages)

describe('the packages', () => {
  for (const folder of ['', 'bench/', 'mutation/', 'test/generated-clients/']) {
    const entries = locked(`${folder}package-lock.json`)
    const installed = entries.filter(([path, { link }]) => path.includes('node_modules/') && !link)

    test(`${folder}package-lock.json has an integrity hash for each of them`, () => {
      assert.ok(installed.length > 0)
      for (const [path, { integrity }] of installed) assert.match(integrity ?? '', /^sha512-/, path)
    })

    test(`${folder}package.json lets none of them run a script at its installation`, () => {
      const { allowScripts = {} } = readJson(`${folder}package.json`)
      const names = installed
        .filter(([, { hasInstallScript }]) => hasInstallScript)
        .map(([path]) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
      for (const name of names) assert.equal(allowScripts[name], false, name)
      for (const [name, isAllowed] of Object.entries(allowScripts)) assert.equal(isAllowed, false, name)
    })
  }

  test('bring one Node for each platform, for development only', () => {
    const { version } = readJson('tools/node/package.json')
    assert.equal(readFileSync(new URL('.nvmrc', root), 'utf8').trim(), version)
    const nodes = locked('package-lock.json').filter(([path]) => /\/node-(bin-)?(linux|darwin)-/.test(path))
    const platforms = nodes.map(([, { os, cpu }]) => `${os}-${cpu}`)
    assert.deepEqual(platforms.toSorted(), ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'])
    for (const [path, node] of nodes) {
      assert.equal(node.version, version, path)
      assert.ok(node.dev && node.optional, path)
    }
  })

  test('the pinned Node is linked if npm has not linked it, and a link that exists is kept', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-link-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const { platform, arch } = process
    const packageName = platform === 'darwin' && arch === 'arm64' ? 'node-bin' : 'node'
    const program = join('node_modules', `${packageName}-${platform}-${arch}`, 'bin', 'node')
    const link = join(folder, 'node_modules', '.bin', 'node')
    const linkNode = () =>
      execFileSync(process.execPath, [fileURLToPath(new URL('tools/linkNode.js', root)), folder])
    mkdirSync(dirname(link), { recursive: true })
    linkNode()
    assert.equal(existsSync(link), false)
    mkdirSync(dirname(join(folder, program)), { recursive: true })
    writeFileSync(join(folder, program), '')
    for (let run = 0; run < 2; run++) {
      linkNode()
      assert.equal(realpathSync(link), realpathSync(join(folder, program)))
    }
  })

  test('the version is one of development until the changelog has a release of it', () => {
    const { version } = readJson('package.json')
    const [release] = /^## \[?\d+\.\d+\.\d+/m.exec(readFileSync(new URL('CHANGELOG.md', root), 'utf8')) ?? []
    if (!release?.endsWith(version)) assert.match(version, /^\d+\.\d+\.\d+-dev$/)
    const { version: lockVersion, packages } = readJson('package-lock.json')
    assert.deepEqual([lockVersion, packages[''].version], [version, version])
    // The interface has a separate version.
    assert.equal(readJson('openapi.json').info.version, '1.0.0')
  })
})
