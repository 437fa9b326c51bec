/**
 * Readers on connections that are kept open, each asking again as soon as it is answered; prints the times as one line
 * of JSON. wrk corrects its percentiles for what a stall would have held up: the first answers of new connections, which
 * a busy server takes one at a time, then decide its 99th percentile. Here connections are open, and answered, before.
 */
import { printTimes } from '../statistics.ts'
import { Connection, requestText } from './client.ts'

/** The first answers are those of a program that is not warm yet: they do not count. */
const warmUpMs = 400

const { env } = process
const connections = Number(env.BENCH_CONNECTIONS)
const request = requestText('GET', env.BENCH_PATH ?? '/', { Authorization: env.BENCH_AUTHORIZATION ?? '' })

const open = await Promise.all(
  Array.from({ length: connections }, () => Connection.open(Number(env.BENCH_PORT))),
)
const started = performance.now()
const endMs = warmUpMs + Number(env.BENCH_SECONDS) * 1000
const timesMs: number[] = []

async function readOn(connection: Connection): Promise<void> {
  for (let sent = performance.now(); sent - started < endMs; ) {
    const { status } = await connection.send(request)
    if (status !== 200) throw new Error(`An answer was ${status}.`)
    const answered = performance.now()
    if (sent - started >= warmUpMs) timesMs.push(answered - sent)
    sent = answered
  }
}

await Promise.all(open.map(readOn))
printTimes(timesMs)
process.exit()
