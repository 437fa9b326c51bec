/** Sends a request at a fixed rate over keep-alive connections. Prints the number of responses as JSON. */
import { Connection, serializeRequest } from './client.ts'

/** A server that is blocked for 100 ms receives 20 requests in that time. */
const connectionCount = 32
const tickMs = 2

const { env } = process
const perSecond = Number(env.BENCH_PER_SECOND)
const endMs = Number(env.BENCH_SECONDS) * 1000
const headers = { Authorization: env.BENCH_AUTHORIZATION ?? '', 'Content-Type': 'application/json' }
const request = serializeRequest('POST', env.BENCH_PATH ?? '/', headers, env.BENCH_BODY)

const free = await Promise.all(
  Array.from({ length: connectionCount }, () => Connection.open(Number(env.BENCH_PORT))),
)
const startedAt = performance.now()
let sent = 0
let responses = 0

async function send(connection: Connection): Promise<void> {
  const { status, head } = await connection.send(request)
  if (status !== 201) throw new Error(`A response was not 201:\n${head}`)
  responses++
  free.push(connection)
}

await new Promise<void>((resolve, reject) => {
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - startedAt
    const due = Math.floor((Math.min(elapsedMs, endMs) / 1000) * perSecond)
    // Round robin: the server closes a connection that stays idle.
    while (sent < due && free.length > 0) {
      sent++
      send(free.shift() as Connection).catch(reject)
    }
    if (elapsedMs < endMs || sent < due || responses < sent) return
    clearInterval(timer)
    resolve()
  }, tickMs)
})
console.log(JSON.stringify({ responses }))
process.exit()
