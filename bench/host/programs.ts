import { existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repositoryDir = fileURLToPath(new URL('../..', import.meta.url))
export const benchDir = fileURLToPath(new URL('..', import.meta.url))

export const findProgram = (name: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((dir) => join(dir, name))
    .find((file) => existsSync(file))

export function packageVersion(name: string): string | undefined {
  const manifest = packageManifest(name)
  return manifest && JSON.parse(readFileSync(manifest, 'utf8')).version
}

/** The file that a package's command runs. */
export function packageProgram(name: string): string {
  const manifest = packageManifest(name)
  if (manifest === undefined) throw new Error(`${name} is not installed. Run "npm ci --prefix bench".`)
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8'))
  return join(dirname(manifest), typeof bin === 'string' ? bin : bin[name])
}

/** Without its install script, the package `bun` has a small placeholder in place of the executable. */
const placeholderBytesMax = 100_000

export function findBun(): string {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const libc = existsSync('/etc/alpine-release') ? '-musl' : ''
  const bun = [
    join('bun', 'bin', 'bun.exe'),
    join(`@oven/bun-${process.platform}-${arch}${libc}`, 'bin', 'bun'),
  ]
    .flatMap((path) => [benchDir, repositoryDir].map((dir) => join(dir, 'node_modules', path)))
    .find((file) => existsSync(file) && statSync(file).size > placeholderBytesMax)
  if (bun === undefined) throw new Error('Bun is not installed for this platform.')
  return bun
}

const packageManifest = (name: string): string | undefined =>
  [benchDir, repositoryDir]
    .map((dir) => join(dir, 'node_modules', name, 'package.json'))
    .find((file) => existsSync(file))
