/** Child processes of the bench. None of them outlives it. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { repositoryDir } from './programs.ts'

export type Env = Readonly<Record<string, string>>

export type Server = {
  readonly name: string
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

type ServerPlan = {
  readonly name: string
  readonly command: readonly string[]
  readonly env?: Env
  /** The port of a server that does not print its address. */
  readonly port?: number
}

const startTimeoutMs = 60_000
const stopTimeoutMs = 5_000
const retryDelayMs = 20
const outputBytesMax = 50_000_000
const errorCharsMax = 2_000
const children = new Set<ChildProcess>()

/** The variables that programs need to run, without any settings of the person who runs the bench. */
export const cleanEnv = (env: Env = {}): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TZ: 'UTC',
  ...env,
})

/**
 * Starts a server and waits until it listens. The server prints its address to standard output. Its log goes to
 * /dev/null, because reading it here would take CPU time from the load generator.
 */
export async function startServer(plan: ServerPlan): Promise<Server> {
  const [program = '', ...args] = plan.command
  const child = spawn(program, args, {
    cwd: repositoryDir,
    env: cleanEnv(plan.env),
    stdio: ['ignore', plan.port === undefined ? 'pipe' : 'ignore', 'ignore'],
  })
  trackChild(child)
  let isListening = false
  const exited = once(child, 'exit').then(async ([code, signal]) => {
    // A server that exits later has either been stopped, or makes the load fail.
    if (isListening) return new Promise<never>(() => {})
    throw new Error(`${plan.name} exited (${signal ?? code}).\n${await readStartError(plan)}`)
  })
  exited.catch(() => {})
  const timeout = rejectAfterTimeout(plan.name)
  const port = await Promise.race([plan.port ?? readPort(child), exited, timeout])
  if (plan.port !== undefined) await Promise.race([waitUntilListening(port), exited, timeout])
  isListening = true
  return { name: plan.name, pid: child.pid ?? 0, port, stop: () => stopChild(child) }
}

export const stopAll = (servers: readonly Server[]) => Promise.all(servers.map((server) => server.stop()))

/** Runs a program and returns its standard output. */
export async function runProgram(command: readonly string[], env?: Env): Promise<string> {
  const [program = '', ...args] = command
  const running = promisify(execFile)(program, args, {
    cwd: repositoryDir,
    env: cleanEnv(env),
    maxBuffer: outputBytesMax,
  })
  trackChild(running.child)
  return (await running).stdout
}

/** Ensures that a child process is killed when the bench exits. */
export function trackChild(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

export function killChildren(): void {
  for (const child of children) child.kill('SIGKILL')
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function readPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('Standard output is not piped.')
  for await (const line of createInterface(child.stdout)) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    if (port === undefined) continue
    child.stdout.resume()
    return Number(port)
  }
  // The process exited without an address. The exit handler reports it.
  return new Promise(() => {})
}

async function waitUntilListening(port: number): Promise<void> {
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${port}/`)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs))
    }
  }
}

const rejectAfterTimeout = (name: string) =>
  new Promise<never>((_, reject) => {
    const error = new Error(`${name} did not start within ${startTimeoutMs} ms.`)
    setTimeout(() => reject(error), startTimeoutMs).unref()
  })

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  await exited
  clearTimeout(timer)
}

/** Starts a failed server again, with standard error captured. */
async function readStartError({ command, env }: ServerPlan): Promise<string> {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: repositoryDir,
    env: cleanEnv(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  trackChild(child)
  const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  const output = await text(child.stderr)
  clearTimeout(timer)
  return output.trim().slice(-errorCharsMax)
}
