import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Bounds } from '../../src/bounds.ts'
import { ConfigError } from '../../src/config.ts'
import type { Service } from '../../src/service.ts'
import { temporaryFolder } from './engine.ts'

export type HostOptions = {
  readonly env: Record<string, string>
  readonly bounds: Partial<Bounds>
  readonly nameServers?: readonly string[]
  /** The URL of a module with operations and pages. */
  readonly additional?: string
}

type Message = {
  port: number
  newOperatorKey?: string
  failed?: true
  error?: { message: string; configProblems?: readonly string[] }
}

export const hostFiles = { options: 'options.json', clock: 'clock', log: 'log' }
/** The time has a fixed width: one read never sees a part of it. */
export const clockBytes = 16

const script = fileURLToPath(new URL('./bunHost.ts', import.meta.url))
const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** The Bun that runs the service, if this run is about Bun (see test/run.ts). */
export const bunPath = process.env.PETSTORE_TEST_BUN

/** The files that a test shares with its services on Bun: the clock and the log. */
export class BunHost {
  readonly #folder = temporaryFolder()
  readonly #clockFile: number
  readonly #logLines: string[] = []
  #logBytes = 0

  constructor() {
    this.#clockFile = openSync(join(this.#folder, hostFiles.clock), 'w')
    writeFileSync(join(this.#folder, hostFiles.log), '')
  }

  setTime(time: number): void {
    writeSync(this.#clockFile, String(time).padStart(clockBytes), 0)
  }

  get logLines(): string[] {
    const log = readFileSync(join(this.#folder, hostFiles.log))
    const complete = log.subarray(this.#logBytes, log.lastIndexOf('\n') + 1)
    this.#logBytes += complete.length
    if (complete.length > 0) this.#logLines.push(...complete.toString().split(/(?<=\n)/))
    return this.#logLines
  }

  async start(options: HostOptions): Promise<Omit<Service, 'stopProgress'>> {
    writeFileSync(join(this.#folder, hostFiles.options), JSON.stringify(options))
    const child = spawn(bunPath as string, [script, this.#folder], { stdio: ['pipe', 'pipe', 'inherit'] })
    running.add(child)
    const ended = once(child, 'close').then(() => void running.delete(child))
    const failed = Promise.withResolvers<void>()
    const up = Promise.withResolvers<Message>()
    createInterface(child.stdout).on('line', (line) => {
      const message: Message = JSON.parse(line)
      if (message.failed) failed.resolve()
      else up.resolve(message)
    })
    void ended.then(() => up.reject(new Error('The service on Bun ended before it was up.')))
    const { port, newOperatorKey, error } = await up.promise
    if (error) throw error.configProblems ? new ConfigError(error.configProblems) : new Error(error.message)
    const stop = async () => {
      child.stdin.end()
      await ended
    }
    return { port, newOperatorKey, failed: failed.promise, stop }
  }

  remove(): void {
    closeSync(this.#clockFile)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
