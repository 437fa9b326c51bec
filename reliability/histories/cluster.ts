import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../../test/support/eventually.ts'
import type { Server } from '../../test/support/servers.ts'

const startsMax = 5
const readyMaxMs = 60_000

/** Instances that are killed, paused and started again, each at an address of its own. */
export class Cluster {
  readonly #instances: Server[] = []
  readonly #ended: Server[] = []
  readonly #start: (index: number) => Promise<Server>
  readonly #busy = new Set<number>()
  #isOver = false

  private constructor(start: (index: number) => Promise<Server>) {
    this.#start = start
  }

  static async start(count: number, start: (index: number) => Promise<Server>): Promise<Cluster> {
    const cluster = new Cluster(start)
    cluster.#instances.push(...(await Promise.all(Array.from({ length: count }, (_, n) => start(n)))))
    return cluster
  }

  get all(): readonly Server[] {
    return this.#instances
  }

  /** The errors that all instances have logged. */
  get log(): string {
    return [...this.#ended, ...this.#instances].map(({ output }) => output.stderr).join('')
  }

  /** Kills an instance at any point of its work, and starts it again. */
  kill = (index: number): Promise<void> =>
    this.#withInstance(index, async (server) => {
      server.child.kill('SIGKILL')
      await server.ended
      server.closeConnections()
      this.#ended.push(server)
      this.#instances[index] = await this.#startAgain(index)
    })

  /** Stops all work of an instance for a time. Its connections stay open. */
  pause = (index: number, ms: number): Promise<void> =>
    this.#withInstance(index, async ({ child }) => {
      child.kill('SIGSTOP')
      await pause(ms)
      child.kill('SIGCONT')
    })

  /** Ends the connections of all callers to an instance. */
  cut(index: number): void {
    this.#instances[index]?.closeConnections()
  }

  /** Waits until all instances are ready. */
  async ready(): Promise<void> {
    this.#isOver = true
    for (const { request } of this.#instances)
      await eventually(
        'the instance is ready',
        async () => (await request('GET', '/readyz')).status === 200,
        readyMaxMs,
      )
  }

  async #withInstance(index: number, work: (server: Server) => Promise<void>): Promise<void> {
    const server = this.#instances[index]
    if (!server || this.#isOver || this.#busy.has(index)) return
    this.#busy.add(index)
    await work(server).finally(() => this.#busy.delete(index))
  }

  /** Retries as a supervisor would: a start fails while the database is not reachable. */
  async #startAgain(index: number): Promise<Server> {
    for (let starts = 1; ; starts++) {
      try {
        return await this.#start(index)
      } catch (error) {
        if (starts === startsMax) throw error
        await pause(1_000)
      }
    }
  }
}
