/** Sends a request at a fixed rate over connections that are kept open; prints how many were answered, as JSON. */
import { Connection, requestText } from './client.ts'

/** A server that is busy for 100 ms meets 20 requests in that time. */
const connections = 32
const tickMs = 2

const { env } = process
const perSecond = Number(env.BENCH_PER_SECOND)
const endMs = Number(env.BENCH_SECONDS) * 1000
const headers = { Authorization: env.BENCH_AUTHORIZATION ?? '', 'Content-Type': 'application/json' }
const request = requestText('POST', env.BENCH_PATH ?? '/', headers, env.BENCH_BODY)

const free = await Promise.all(
  Array.from({ length: connections }, () => Connection.open(Number(env.BENCH_PORT))),
)
const started = performance.now()
let sent = 0
let answered = 0

async function send(connection: Connection): Promise<void> {
  const { status, head } = await connection.send(request)
  if (status !== 201) throw new Error(`An answer was not 201:\n${head}`)
  answered++
  free.push(connection)
}

await new Promise<void>((resolve, reject) => {
  const timer = setInterval(() => {
    const elapsedMs = performance.now() - started
    const due = Math.floor((Math.min(elapsedMs, endMs) / 1000) * perSecond)
    // What finds no free connection is sent as soon as there is one. All take turns: one that is never used is closed.
    while (sent < due && free.length > 0) {
      sent++
      send(free.shift() as Connection).catch(reject)
    }
    if (elapsedMs < endMs || sent < due || answered < sent) return
    clearInterval(timer)
    resolve()
  }, tickMs)
})
console.log(JSON.stringify({ answered }))
process.exit()
