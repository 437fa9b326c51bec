/**
 * Readers at a fixed rate, regardless of pending responses. Prints the latencies as JSON. A request is timed from the
 * moment it is due, so waiting for a free connection counts. A late timer of this process does not.
 *
 * wrk has no fixed rate, and autocannon reports whole milliseconds.
 */
import { Connection, serializeRequest } from './client.ts'
import { printLatencies, warmUpMs } from './latencyReport.ts'

/** A server that is blocked for 30 ms receives 7 requests in that time. Each finds a free connection. */
const connectionsMax = 16
const perSecond = 250

const { env } = process
const request = serializeRequest('GET', env.BENCH_PATH ?? '/', {
  Authorization: env.BENCH_AUTHORIZATION ?? '',
})

const free = await Promise.all(
  Array.from({ length: connectionsMax }, () => Connection.open(Number(env.BENCH_PORT))),
)
const startedAt = performance.now()
const endMs = warmUpMs + Number(env.BENCH_SECONDS) * 1000
/** When each request that waits for a connection was due. */
const queue: number[] = []
const timesMs: number[] = []
let problem: string | undefined

async function send(connection: Connection, dueAt: number): Promise<void> {
  try {
    const { status } = await connection.send(request)
    if (dueAt - startedAt >= warmUpMs) timesMs.push(performance.now() - dueAt)
    if (status !== 200) problem = `A response had status ${status}.`
  } catch (error) {
    problem = String(error)
  }
  const next = queue.shift()
  if (next === undefined || problem !== undefined) free.push(connection)
  else void send(connection, next)
}

let sent = 0
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    const now = performance.now()
    const due = (Math.min(now - startedAt, endMs) / 1000) * perSecond
    for (; sent < due; sent++) {
      const connection = free.shift()
      if (connection) void send(connection, now)
      else queue.push(now)
    }
    const isDone = now - startedAt > endMs && queue.length === 0 && free.length === connectionsMax
    if (isDone || problem !== undefined) {
      clearInterval(timer)
      resolve()
    }
  }, 1)
})

if (problem !== undefined) throw new Error(problem)
printLatencies(timesMs)
process.exit()
