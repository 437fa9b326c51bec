import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** The package `bun` has a short text in place of its program unless scripts of packages may run. */
const placeholderBytesMax = 100_000

/** The Bun of the benchmarks, which is installed by `npm ci --prefix bench`. */
export function findBun(root: string): string {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const libc = existsSync('/etc/alpine-release') ? '-musl' : ''
  const programs = [
    join('bun', 'bin', 'bun.exe'),
    join('@oven', `bun-${process.platform}-${arch}${libc}`, 'bin', 'bun'),
  ].map((program) => join(root, 'bench', 'node_modules', program))
  const found = programs.find((file) => existsSync(file) && statSync(file).size > placeholderBytesMax)
  if (found === undefined) throw new Error('Bun is not installed: run "npm ci --prefix bench".')
  return found
}
