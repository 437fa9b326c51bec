/**
 * Writes everything that a release publishes to artifacts/: `npm run build:artifacts [-- --target linux-x64 --target
 * linux-arm64]`. Without a target, it builds for this machine. See docs/releasing.md.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildBinary, type Target, targetOf } from './buildBinary.ts'
import { buildDeb, type Compression } from './buildDeb.ts'
import { deliveredPackages } from './delivered.ts'
import { readVersion, root, run, sha256 } from './project.ts'

const isInstalled = (command: string): boolean => {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

type Component = { name: string; version: string; 'bom-ref': string; [field: string]: unknown }
type Sbom = {
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}

/**
 * The software bill of materials, in the format CycloneDX. `npm sbom --omit=dev` is not used: it also omits dependencies
 * that a development dependency shares. The lock file has no addresses of a registry, so the result has none.
 */
function sbom(nodeVersion: string): Sbom {
  const args = ['--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only']
  const document: Sbom = JSON.parse(run('npm', 'sbom', ...args))
  const { component } = document.metadata
  // npm uses the name of the folder.
  component.name = 'petstore'
  const delivered = new Set(deliveredPackages().map(({ name, version }) => `${name}@${version}`))
  const isDelivered = (ref: string): boolean => delivered.has(ref) || ref === component['bom-ref']
  const node: Component = {
    type: 'platform',
    'bom-ref': `node@${nodeVersion}`,
    name: 'node',
    version: nodeVersion,
    description: 'Part of the executable and of the Debian package only.',
    purl: `pkg:generic/node@${nodeVersion}`,
  }
  document.components = [...document.components.filter((found) => isDelivered(found['bom-ref'])), node]
  document.dependencies = document.dependencies
    .filter(({ ref }) => isDelivered(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isDelivered) }))
  return document
}

const provenance = (
  version: string,
  commit: string,
  targets: readonly Target[],
): string => `# Petstore ${version}

| | |
| --- | --- |
| commit | ${commit} |
| Node | ${process.version}, part of the executables |
| npm | ${run('npm', '--version')} |
| package-lock.json | sha256 ${sha256(join(root, 'package-lock.json'))} |
| targets | ${targets.join(', ')} |

To build the files again, check out the commit and run with Node 20 or newer:

    npm ci && npm run build:artifacts -- ${targets.map((target) => `--target ${target}`).join(' ')}

\`npm ci\` compares each package with the lock file, and so does the build with the Node of another architecture. The
packages, the executables and openapi.json are the same, byte for byte. The SBOM has a new serial number and time.

SHA256SUMS has the checksums: \`sha256sum --check SHA256SUMS\`.
`

/** Writes the artifacts. The console must have been built. */
export async function buildArtifacts(folder: string, targets: readonly Target[], compression: Compression) {
  const version = readVersion()
  const commit = run('git', 'rev-parse', 'HEAD')
  const isClean = run('git', 'status', '--porcelain') === ''
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  run('npm', 'run', '--silent', 'prepack')
  run('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder)
  run('npm', 'pack', '--silent', '--pack-destination', folder, './client')
  for (const target of targets) {
    const executable = join(folder, `petstore-${version}-${target}`)
    await buildBinary(target, executable)
    if (isInstalled('dpkg-deb')) buildDeb(executable, target, `${executable}.deb`, compression)
  }
  copyFileSync(join(root, 'openapi.json'), join(folder, 'openapi.json'))
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom(process.versions.node), null, 2)}\n`)
  const source = isClean ? commit : `${commit}, with uncommitted changes`
  writeFileSync(join(folder, 'PROVENANCE.md'), provenance(version, source, targets))
  const names = readdirSync(folder).sort()
  writeFileSync(
    join(folder, 'SHA256SUMS'),
    names.map((name) => `${sha256(join(folder, name))}  ${name}\n`).join(''),
  )
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { target: { type: 'string', multiple: true } } })
  const targets = (values.target ?? [undefined]).map((name) => targetOf(name))
  run(process.execPath, 'tools/buildConsole.js')
  await buildArtifacts(join(root, 'artifacts'), targets, 'zstd')
  for (const name of readdirSync(join(root, 'artifacts'))) console.log(`artifacts/${name}`)
}
