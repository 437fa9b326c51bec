/**
 * Asks at a fixed rate, whether or not earlier requests are answered, over a few connections that are kept open, and
 * prints the times as one line of JSON. A request is timed from the moment it is due, so that one that has to wait for
 * a free connection counts with its waiting; a timer of ours that comes late is our fault, and not counted.
 *
 * Neither wrk nor autocannon does this: wrk has no rate, and autocannon counts whole milliseconds.
 */
import { printTimes } from '../statistics.ts'
import { Connection, requestText } from './client.ts'

/**
 * A server that answers 64 writers in one turn of, say, 30 ms meets 7 of our requests in it: there is a free connection
 * for each, and no queue of our own making.
 */
const connectionsMax = 16
const perSecond = 250
/** The first answers are those of a program that is not warm yet, ours as well: they do not count. */
const warmUpMs = 400

const { BENCH_PORT = '', BENCH_PATH = '/', BENCH_AUTHORIZATION = '', BENCH_SECONDS = '1' } = process.env
const request = requestText('GET', BENCH_PATH, { Authorization: BENCH_AUTHORIZATION })

const free = await Promise.all(
  Array.from({ length: connectionsMax }, () => Connection.open(Number(BENCH_PORT))),
)
const started = performance.now()
const endMs = warmUpMs + Number(BENCH_SECONDS) * 1000
const due: number[] = []
const timesMs: number[] = []
let problem: string | undefined

async function serve(connection: Connection, since: number): Promise<void> {
  try {
    const { status } = await connection.send(request)
    if (since - started >= warmUpMs) timesMs.push(performance.now() - since)
    if (status !== 200) problem = `An answer was ${status}.`
  } catch (error) {
    problem = String(error)
  }
  const next = due.shift()
  if (next === undefined || problem !== undefined) free.push(connection)
  else void serve(connection, next)
}

let sent = 0
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    const now = performance.now()
    const target = (Math.min(now - started, endMs) / 1000) * perSecond
    for (; sent < target; sent++) {
      const connection = free.shift()
      if (connection) void serve(connection, now)
      else due.push(now)
    }
    const isDone = now - started > endMs && due.length === 0 && free.length === connectionsMax
    if (isDone || problem !== undefined) {
      clearInterval(timer)
      resolve()
    }
  }, 1)
})

if (problem !== undefined) throw new Error(problem)
printTimes(timesMs)
process.exit()
