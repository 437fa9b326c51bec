/**
 * Sends requests without a valid key on many connections. Each sends its next request when it receives a response. Prints a
 * line when the address has no requests left, and on SIGTERM the number of responses by status.
 */
import { crc32 } from 'node:zlib'
import { Connection, serializeRequest } from './client.ts'

const openConcurrency = 50
const base = 62
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const checksumLength = 6
const limitedStatus = 429

const { env } = process
const isWellFormed = env.BENCH_IS_WELL_FORMED === 'true'
const statuses: Record<number, number> = {}
let sent = 0

function toBase62(value: number): string {
  let digits = ''
  for (let left = value; digits.length < checksumLength; left = Math.floor(left / base))
    digits = alphabet.charAt(left % base) + digits
  return digits
}

/** A different one each time. Both kinds have the same length. */
function madeUpToken(): string {
  const body = `ps_live_${String(process.pid).padStart(15, '0')}${String(++sent).padStart(15, '0')}`
  const checksum = crc32(body)
  return body + toBase62(isWellFormed ? checksum : (checksum + 1) % 2 ** 32)
}

async function sendRepeatedly(connection: Connection): Promise<void> {
  for (;;) {
    const headers = { Authorization: `Bearer ${madeUpToken()}` }
    const { status } = await connection.send(serializeRequest('GET', env.BENCH_PATH ?? '/', headers))
    if (status === limitedStatus && statuses[status] === undefined) console.log('limited')
    statuses[status] = (statuses[status] ?? 0) + 1
  }
}

process.once('SIGTERM', () => {
  console.log(JSON.stringify(statuses))
  process.exit()
})
const count = Number(env.BENCH_CONNECTIONS)
const connections: Connection[] = []
while (connections.length < count) {
  const batch = Math.min(openConcurrency, count - connections.length)
  const open = () => Connection.open(Number(env.BENCH_PORT))
  connections.push(...(await Promise.all(Array.from({ length: batch }, open))))
}
await Promise.all(connections.map(sendRepeatedly))
