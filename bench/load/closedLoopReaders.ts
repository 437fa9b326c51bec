/**
 * Readers on open connections. Each sends its next request when it receives a response. Prints the latencies as JSON.
 *
 * wrk is not suitable: it corrects its percentiles for coordinated omission, so the first responses on new connections
 * dominate the 99th percentile. Here all connections are open and in use before the measurement starts.
 */
import { Connection, serializeRequest } from './client.ts'
import { printLatencies, warmUpMs } from './latencyReport.ts'

const { env } = process
const request = serializeRequest('GET', env.BENCH_PATH ?? '/', {
  Authorization: env.BENCH_AUTHORIZATION ?? '',
})

const connections = await Promise.all(
  Array.from({ length: Number(env.BENCH_CONNECTIONS) }, () => Connection.open(Number(env.BENCH_PORT))),
)
const startedAt = performance.now()
const endMs = warmUpMs + Number(env.BENCH_SECONDS) * 1000
const timesMs: number[] = []

async function readRepeatedly(connection: Connection): Promise<void> {
  for (let sentAt = performance.now(); sentAt - startedAt < endMs; ) {
    const { status } = await connection.send(request)
    if (status !== 200) throw new Error(`A response had status ${status}.`)
    const receivedAt = performance.now()
    if (sentAt - startedAt >= warmUpMs) timesMs.push(receivedAt - sentAt)
    sentAt = receivedAt
  }
}

await Promise.all(connections.map(readRepeatedly))
printLatencies(timesMs)
process.exit()
