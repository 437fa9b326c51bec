/**
 * Opens the connections of one kind of slow or flooding callers, and keeps them open until SIGTERM. Prints a line when all are
 * open, and at the end how many the service has closed, and when.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { CallerKind, ClosedReport } from './kinds.ts'

const { env } = process
const kind = env.RELIABILITY_KIND as CallerKind
const count = Number(env.RELIABILITY_COUNT)
const port = Number(env.RELIABILITY_PORT)
const authorization = `Authorization: Bearer ${env.RELIABILITY_KEY}\r\n`
const responsesToIgnore = 50
/** Below the limits of an address: connections, and 600 requests of pages a minute. */
const perAddress = kind === 'readers' ? 10 : 1_900
const openConcurrency = 20
const dropMs = 400
/** Requests that are written at once, again and again. */
const pipelined = 200

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${authorization}\r\n`
const starts: Record<CallerKind, string> = {
  headers: 'GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n',
  bodies: `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n${authorization}Content-Length: 1000\r\n\r\n`,
  readers: 'GET /v1/openapi.json HTTP/1.1\r\nHost: petstore\r\n\r\n'.repeat(responsesToIgnore),
  idle: get('/healthz'),
  pipelining: get('/v1/pets?status=available').repeat(pipelined),
}
/** Sent again and again. A caller that does not read notices only when it sends that its connection is closed. */
const drops: Partial<Record<CallerKind, string>> = { headers: 'X-Drop: 1\r\n', bodies: ' ', readers: '\r\n' }

const closedMs: number[] = []
let refused = 0
let responses = 0

async function open(index: number): Promise<void> {
  const localAddress = `127.0.1.${1 + Math.floor(index / perAddress)}`
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ])
  if (!isOpen) return void refused++
  const openedAt = performance.now()
  socket.on('close', () => closedMs.push(performance.now() - openedAt))
  behave(socket)
  if (kind === 'idle') await once(socket, 'data').catch(() => {})
}

function behave(socket: Socket): void {
  socket.write(starts[kind])
  if (kind === 'readers') socket.pause()
  else
    socket.on('data', (bytes: Buffer) => {
      if (kind === 'pipelining') flood(socket, bytes)
    })
  const drop = drops[kind]
  if (drop === undefined) return
  const timer = setInterval(() => socket.write(drop), dropMs)
  socket.on('close', () => clearInterval(timer))
}

/** Sends further requests before the responses to the earlier ones have arrived. */
function flood(socket: Socket, bytes: Buffer): void {
  responses += bytes.toString('latin1').split('HTTP/1.1 ').length - 1
  if (socket.writableLength === 0) socket.write(starts.pipelining)
}

process.once('SIGTERM', () => {
  const report: ClosedReport = { opened: count - refused, closedMs, responses }
  console.log(JSON.stringify(report))
  process.exit()
})
let next = 0
const openAll = async () => {
  while (next < count) await open(next++)
}
await Promise.all(Array.from({ length: openConcurrency }, openAll))
console.log(JSON.stringify({ open: count - refused }))
setInterval(() => {}, 1_000)
