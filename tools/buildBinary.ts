/**
 * Builds an executable that contains Node, the program and its assets: `npm run build:binary [-- --target linux-x64]`.
 * See docs/decisions/0033-executable.md.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build, type Plugin } from 'rolldown'
import { loadScalar } from '../src/pages/reference.ts'
import { sharpAssets } from './embeddedSharp.ts'
import { readJson, readVersion, root, unbundledPackages } from './project.ts'

const targets = ['linux-x64', 'linux-arm64'] as const
export type Target = (typeof targets)[number]

/** Files that the program reads at run time, by their paths in the repository. See src/assets.ts. */
const assetPatterns = [
  'package.json',
  'docs/guides/*.md',
  'console/dist/index.html',
  'console/dist/assets/*',
  'src/adoption/assets/*',
  'src/database/migrations/*.sql',
  'src/database/sqlite/checkpointerThread.js',
]

/** The WebAssembly build of sharp. */
export const sharpWasm = dirname(fileURLToPath(import.meta.resolve('@img/sharp-wasm32/sharp.node')))
const emnapi = createRequire(join(sharpWasm, 'index.cjs')).resolve('@emnapi/runtime/dist/emnapi.min.mjs')

/** Replaces the module of sharp that loads the native library, which the executable cannot contain. */
const embedSharp: Plugin = {
  name: 'embed-sharp',
  load: {
    filter: { id: /\/sharp\/dist\/sharp\.mjs$/ },
    handler: () => `
      import * as emnapi from ${JSON.stringify(emnapi)}
      import { loadSharp } from ${JSON.stringify(join(root, 'tools/embeddedSharp.ts'))}
      export default loadSharp(emnapi)`,
  },
}

/** The file names contain the version. */
function sharpFile(extension: string): string {
  const [file, ...others] = globSync(join(sharpWasm, 'lib', `*.${extension}`))
  if (file === undefined || others.length > 0) throw new Error(`sharp has not one file *.${extension}.`)
  return file
}

/** One ES module. Of the external modules, Scalar is embedded as an asset, and the executable does not use the others. */
async function bundle(file: string): Promise<void> {
  await build({
    input: join(root, 'src/main.ts'),
    platform: 'node',
    external: unbundledPackages,
    plugins: [embedSharp],
    logLevel: 'warn',
    output: { file, format: 'esm', codeSplitting: false },
  })
}

/** The pinned Node for a target. One for another architecture is downloaded and compared with the lock file. */
function nodeFor(target: Target, folder: string): string {
  if (target === `${process.platform}-${process.arch}`) return process.execPath
  const name = `node-${target}`
  const { version, integrity } = readJson('package-lock.json').packages[`node_modules/${name}`]
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`], { cwd: root })
  const tarball = join(folder, `${name}-${version}.tgz`)
  const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64')
  if (`sha512-${digest}` !== integrity) throw new Error(`${name} is not the package of the lock file.`)
  execFileSync('tar', ['-xzf', tarball, '-C', folder, 'package/bin/node'])
  return join(folder, 'package/bin/node')
}

/** Writes the executable. The console must have been built. */
export async function buildBinary(target: Target, output: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-binary-'))
  try {
    await bundle(join(folder, 'main.mjs'))
    const scalar = join(folder, 'scalar.js')
    writeFileSync(scalar, await loadScalar())
    const assets = globSync(assetPatterns, { cwd: root }).sort()
    const config = {
      // Relative: the executable contains this path, and must be the same wherever it is built.
      main: 'main.mjs',
      mainFormat: 'module',
      executable: nodeFor(target, folder),
      output,
      disableExperimentalSEAWarning: true,
      execArgv: ['--max-semi-space-size=8', '--v8-pool-size=1'],
      assets: {
        ...Object.fromEntries(assets.map((path) => [path, join(root, path)])),
        'src/pages/scalar.js': scalar,
        [sharpAssets.script]: sharpFile('js'),
        [sharpAssets.wasm]: sharpFile('wasm'),
      },
    }
    writeFileSync(join(folder, 'sea.json'), JSON.stringify(config))
    execFileSync(process.execPath, ['--build-sea', 'sea.json'], { cwd: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The target with this name, by default this machine. */
export function targetOf(name = `${process.platform}-${process.arch}`): Target {
  const target = targets.find((known) => known === name)
  if (target === undefined) throw new Error(`The target must be one of ${targets.join(', ')}, not ${name}.`)
  return target
}

/** Builds the console and the executable, and returns its path in artifacts/. */
export async function buildArtifactBinary(target: Target): Promise<string> {
  const output = join(root, 'artifacts', `petstore-${readVersion()}-${target}`)
  mkdirSync(join(root, 'artifacts'), { recursive: true })
  execFileSync(process.execPath, ['tools/buildConsole.js'], { cwd: root, stdio: 'inherit' })
  await buildBinary(target, output)
  return output
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { target: { type: 'string' } } })
  console.log(await buildArtifactBinary(targetOf(values.target)))
}
