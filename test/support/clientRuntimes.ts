import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBun } from './findBun.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pathFolders = (): string[] => (process.env.PATH ?? '').split(delimiter)

const programsInPath = (name: string): string[] =>
  pathFolders()
    .map((folder) => join(folder, name))
    .filter((program) => existsSync(program))

/** The PATH of this process without the programs that npm adds. */
export const ownPath = (): string =>
  pathFolders()
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter)

/** An older Node on this machine: not the pinned one in node_modules. */
function findOldNode(): string | undefined {
  return programsInPath('node')
    .filter((program) => !program.includes('node_modules'))
    .find((program) => /^v(?:20|22)\./.test(execFileSync(program, ['--version'], { encoding: 'utf8' })))
}

/** Bun comes with the benchmarks. */
function findInstalledBun(): string | undefined {
  try {
    return findBun(root)
  } catch {
    return undefined
  }
}

/** The program and its arguments before the name of the script. */
const runtimes: Record<string, [program: string | undefined, ...args: string[]]> = {
  'the pinned Node': [process.execPath],
  'Node 20 or 22': [findOldNode()],
  Bun: [findInstalledBun()],
  Deno: [programsInPath('deno')[0], 'run', '--allow-all'],
}

/** All runtimes: the name, the reason to skip one that is not installed, and the program and its arguments before the script. */
export const clientRuntimes = () =>
  Object.entries(runtimes).map(([name, [program = '', ...args]]) => ({
    name,
    skip: program === '' && `${name} is not installed.`,
    program,
    args,
  }))
