/** A TCP proxy that delays all data in both directions, in a process of its own. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type Cores, pinned } from '../host/cores.ts'
import { type Server, startServer } from '../host/processes.ts'

export type DelayProxy = Server & {
  /** The connection string of a database through this proxy. */
  through(databaseUrl: string): string
}

/** A round trip takes this time longer. The proxy runs on the core of the database. */
export async function startDelayProxy(
  cores: Cores,
  databaseUrl: string,
  roundTripMs: number,
): Promise<DelayProxy> {
  const server = await startServer({
    name: 'delay proxy',
    command: pinned(cores, cores.postgres, [process.execPath, fileURLToPath(import.meta.url)]),
    env: { BENCH_TARGET: databaseUrl, BENCH_DELAY_MS: String(roundTripMs / 2) },
  })
  return {
    ...server,
    through(url) {
      const address = new URL(url)
      address.port = String(server.port)
      return address.href
    },
  }
}

/** Timers have a resolution of 1 ms. What is due in half of it is sent, so that the mean delay is right. */
const earlyMaxMs = 0.5
const timerMs = 1

function listen(): void {
  const target = new URL(process.env.BENCH_TARGET ?? '')
  const delayMs = Number(process.env.BENCH_DELAY_MS)
  // All delays are equal, so one queue is in the order of the due times.
  const queue: { dueAt: number; run(): void }[] = []
  let isTimerSet = false

  function setTimer(): void {
    if (isTimerSet || queue.length === 0) return
    isTimerSet = true
    setTimeout(runDue, timerMs)
  }

  function runDue(): void {
    isTimerSet = false
    const until = performance.now() + earlyMaxMs
    const firstLater = queue.findIndex(({ dueAt }) => dueAt > until)
    for (const { run } of queue.splice(0, firstLater === -1 ? queue.length : firstLater)) run()
    setTimer()
  }

  function later(run: () => void): void {
    queue.push({ dueAt: performance.now() + delayMs, run })
    setTimer()
  }

  function forward(from: Socket, to: Socket): void {
    from.on('data', (chunk) => later(() => to.writable && to.write(chunk)))
    from.on('error', () => {})
    from.on('close', () => later(() => to.destroy()))
  }

  const server = createServer({ noDelay: true }, (client) => {
    const database = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    forward(client, database)
    forward(database, client)
  })
  // In the format of all servers of the bench.
  server.listen(0, '127.0.0.1', () =>
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
}

if (import.meta.main) listen()
