import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Whatever the bench starts is a child process of it, and none outlives it. */

export const root = fileURLToPath(new URL('..', import.meta.url))
export const here = fileURLToPath(new URL('.', import.meta.url))

export type Server = {
  readonly name: string
  readonly pid: number
  readonly port: number
  stop(): Promise<void>
}

type ServerPlan = {
  readonly name: string
  readonly command: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Where it will listen, of a server that does not say so itself. */
  readonly port?: number
}

const startMaxMs = 60_000
const stopMaxMs = 5_000
const retryMs = 20
const outputMax = 50_000_000
const wordsMax = 2_000
const children = new Set<ChildProcess>()

/** Nothing of the caller's environment but what programs need to run: his settings are not the bench's. */
export const environment = (more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TZ: 'UTC',
  ...more,
})

/**
 * Starts a server and waits until it listens. It says where on standard output, and what it logs beside goes to
 * /dev/null: reading it here would take time from the load.
 */
export async function startServer(plan: ServerPlan): Promise<Server> {
  const [program = '', ...args] = plan.command
  const child = spawn(program, args, {
    cwd: root,
    env: environment(plan.env),
    stdio: ['ignore', plan.port === undefined ? 'pipe' : 'ignore', 'ignore'],
  })
  children.add(child)
  let isUp = false
  const ended = once(child, 'exit').then(async ([code, signal]) => {
    children.delete(child)
    // Later it ends because it is stopped; one that ends by itself makes the load fail.
    if (isUp) return new Promise<never>(() => {})
    const why = `${plan.name} ended (${signal ?? code}).`
    throw new Error(`${why}\n${await lastWords(plan)}`)
  })
  ended.catch(() => {})
  const port = await Promise.race([plan.port ?? announcedPort(child), ended, tooLate(plan.name)])
  if (plan.port !== undefined) await Promise.race([untilListening(port), ended, tooLate(plan.name)])
  isUp = true
  return { name: plan.name, pid: child.pid ?? 0, port, stop: () => stopChild(child) }
}

/** Runs a program to its end and gives what it printed. */
export async function runProgram(
  command: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  const [program = '', ...args] = command
  const running = promisify(execFile)(program, args, {
    cwd: root,
    env: environment(env),
    maxBuffer: outputMax,
  })
  adopt(running.child)
  return (await running).stdout
}

/** A child that is not a server, but must not outlive us either. */
export function adopt(child: ChildProcess): void {
  children.add(child)
  child.once('exit', () => children.delete(child))
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

async function announcedPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('A server that says nothing needs a port.')
  const lines = createInterface(child.stdout)
  for await (const line of lines) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1]
    if (port === undefined) continue
    child.stdout.resume()
    return Number(port)
  }
  // It ended without a word: whoever waits for the end says so.
  return new Promise(() => {})
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    try {
      await fetch(`http://127.0.0.1:${port}/`)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}

const tooLate = (name: string) =>
  new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${name} was not up within ${startMaxMs} ms.`)), startMaxMs).unref()
  })

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMaxMs)
  await ended
  clearTimeout(timer)
}

/** What went to /dev/null is the only word on why a server ended: it is started once more to be heard. */
async function lastWords({ command, env }: ServerPlan): Promise<string> {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: root,
    env: environment(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  adopt(child)
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMaxMs)
  const words = await text(child.stderr)
  clearTimeout(timer)
  return words.trim().slice(-wordsMax)
}
