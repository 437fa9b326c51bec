import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from './client.ts'
import { runInHost } from './commandHosts.ts'
import { databaseEnvIn, engine, newDatabase } from './engine.ts'
import { mainFile } from './mainFile.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

export type ProcessResult = {
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** This environment without settings of the service, and with those given. */
function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  if (engine === 'postgres' && env.PETSTORE_DATA_DIR !== undefined && env.DATABASE_URL === undefined) {
    throw new Error('This would run on SQLite: pass all settings of the database (databaseEnv).')
  }
  const clean = Object.entries(process.env).filter(
    ([name]) => !/^(PETSTORE_|PORT$|HOST$|DATABASE_URL$|NODE_TEST_CONTEXT$|NODE_OPTIONS$)/.test(name),
  )
  return { ...Object.fromEntries(clean), ...env }
}

/** These end with this process, also if a signal ends it. */
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
process.once('SIGTERM', () => process.exit(1))

export type SpawnOptions = {
  /** Options of Node itself. */
  nodeOptions?: readonly string[]
  /** The size limit of each file: writing more is an I/O error. */
  fileBytesMax?: number
  /** A redirection of the shell, such as `2>/dev/full`. */
  redirect?: string
  /** A file descriptor that the process has as number 3. */
  fd3?: number
  /** The path of an installed `petstore`, to run instead of the sources. */
  program?: string
  /** The main file of a variant of the program, to run instead of the program. */
  main?: string
  /** The working directory, by default the repository. */
  cwd?: string
}

/** The option of Node that runs this module before the program. */
export const preloadOption = (source: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(source)}`

/** The unit of `ulimit -f` is 512 bytes. */
const limited = (bytes: number, ...command: string[]) => [
  '-c',
  'ulimit -f "$0" && exec "$@"',
  String(Math.floor(bytes / 512)),
  ...command,
]

/** Starts the `petstore` command in a new process. */
export function spawnPetstore(args: string[], env: Record<string, string> = {}, how: SpawnOptions = {}) {
  const { nodeOptions = [], fileBytesMax, redirect, fd3, program, main = mainFile, cwd = root } = how
  const command =
    program === undefined ? [process.execPath, ...nodeOptions, main, ...args] : [program, ...args]
  const stdio = ['pipe', 'pipe', 'pipe', ...(fd3 === undefined ? [] : [fd3])] as ('pipe' | number)[]
  const options = { cwd, env: environment(env), stdio }
  const [file = '', ...rest] =
    redirect !== undefined
      ? ['sh', '-c', `exec "$0" "$@" ${redirect}`, ...command]
      : fileBytesMax !== undefined
        ? ['sh', ...limited(fileBytesMax, ...command)]
        : command
  const child = spawn(file, rest, options) as ChildProcessWithoutNullStreams
  running.add(child)
  child.once('close', () => running.delete(child))
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text
  })
  const ended: Promise<ProcessResult> = once(child, 'close').then(([code, signal]) => ({
    code,
    signal,
    ...output,
  }))
  return { child, output, ended }
}

/** Runs a shell command in which `"$NODE" "$MAIN"` is `petstore`. */
export async function runShell(line: string, env: Record<string, string> = {}) {
  return promisify(execFile)('sh', ['-c', line], {
    cwd: root,
    env: { ...environment(env), NODE: process.execPath, MAIN: mainFile },
  })
}

/** Runs a command to its end in a new process. */
export function runInProcess(
  args: string[],
  env: Record<string, string> = {},
  input = '',
  how: SpawnOptions = {},
): Promise<ProcessResult> {
  const { child, ended } = spawnPetstore(args, env, how)
  child.stdin.end(input)
  return ended
}

/** Runs a command to its end in a process that is used again. `serve` may not end, so it gets a new process. */
export async function runPetstore(
  args: string[],
  env: Record<string, string> = {},
  input = '',
): Promise<ProcessResult> {
  if (args[0] === 'serve') return runInProcess(args, env, input)
  return { ...(await runInHost({ args, env: environment(env), input })), signal: null }
}

/** A running server in a separate process, on a fresh database unless the settings name one. */
export async function startServer(env: Record<string, string> = {}, how: SpawnOptions = {}) {
  const databaseEnv = databaseEnvIn(env) ?? (await newDatabase())
  const { child, output, ended } = spawnPetstore(['serve'], { PORT: '0', ...databaseEnv, ...env }, how)
  await until(
    child,
    () => /Ctrl-C/.test(output.stdout),
    () => `${output.stdout}\n${output.stderr}`,
  )
  const base = /API\s+(http:\/\/\S+)\/v1/.exec(output.stdout)?.[1] as string
  const operatorKey = /ps_(?:live|test)_[0-9A-Za-z]{36}/.exec(output.stdout)?.[0]
  const dataDir = databaseEnv.PETSTORE_DATA_DIR
  return { child, output, ended, databaseEnv, dataDir, base, operatorKey, ...createClient(base) }
}

/** Waits until the output of a process satisfies a condition. Fails if the process ends first. */
function until(child: ChildProcess, isThere: () => boolean, describe: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => isThere() && resolve()
    child.stdout?.on('data', look)
    child.once('close', () => reject(new Error(`The server ended before it was up:\n${describe()}`)))
  })
}
