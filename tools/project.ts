/** What the tools of a release share. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the repository. */
export const root = fileURLToPath(new URL('../', import.meta.url))

/** Runs a program in the folder of the repository and returns its output. */
export const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()

export const readJson = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
export const readVersion = (): string => readJson('package.json').version
export const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Packages that a bundle of the program does not contain: Scalar, an asset, and those that are used only if installed. */
export const unbundledPackages = ['@scalar/fastify-api-reference', 'pg-native', 'bun:jsc']
