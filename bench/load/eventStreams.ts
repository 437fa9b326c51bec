/** Opens event streams and reads them. Prints a line when all are open, and on SIGTERM the last event id of each. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { serializeRequest } from './client.ts'

const openConcurrency = 50

const { env } = process
const request = serializeRequest('GET', '/v1/events', {
  Authorization: env.BENCH_AUTHORIZATION ?? '',
  Accept: 'text/event-stream',
})
/** The last chunk of each stream. */
const lastChunks = new Map<number, Buffer>()

async function open(stream: number): Promise<void> {
  const socket = connect(Number(env.BENCH_PORT), '127.0.0.1')
  socket.on('error', (error) => fail(String(error)))
  socket.on('close', () => fail('A stream was closed.'))
  socket.write(request)
  const [head] = (await once(socket, 'data')) as [Buffer]
  if (!head.toString('latin1').startsWith('HTTP/1.1 200 ')) fail(head.toString('latin1'))
  socket.on('data', (chunk: Buffer) => lastChunks.set(stream, chunk))
}

function fail(problem: string): never {
  console.error(problem)
  process.exit(1)
}

const lastIdIn = (chunk: Buffer) => [...chunk.toString('latin1').matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]

const count = Number(env.BENCH_STREAMS)
for (let stream = 0; stream < count; stream += openConcurrency) {
  const batch = Math.min(openConcurrency, count - stream)
  await Promise.all(Array.from({ length: batch }, (_, index) => open(stream + index)))
}
process.once('SIGTERM', () => {
  const lastIds = new Set([...lastChunks.values()].map(lastIdIn))
  console.log(JSON.stringify({ streams: lastChunks.size, lastIds: [...lastIds] }))
  process.exit()
})
console.log(JSON.stringify({ open: count }))
