/**
 * Opens event streams and reads them, each on a connection of its own. Prints a line when all are open, and another with
 * what they have received when it is told to end.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { requestText } from './client.ts'

const openAtOnce = 50

const { env } = process
const request = requestText('GET', '/v1/events', {
  Authorization: env.BENCH_AUTHORIZATION ?? '',
  Accept: 'text/event-stream',
})
/** What each stream has received last: the whole would be too much to keep. */
const last = new Map<number, Buffer>()

async function open(stream: number): Promise<void> {
  const socket = connect(Number(env.BENCH_PORT), '127.0.0.1')
  socket.on('error', (error) => fail(String(error)))
  socket.on('close', () => fail('A stream has ended.'))
  socket.write(request)
  const [head] = (await once(socket, 'data')) as [Buffer]
  if (!head.toString('latin1').startsWith('HTTP/1.1 200 ')) fail(head.toString('latin1'))
  socket.on('data', (chunk: Buffer) => last.set(stream, chunk))
}

function fail(problem: string): never {
  console.error(problem)
  process.exit(1)
}

const lastIdIn = (chunk: Buffer) => [...chunk.toString('latin1').matchAll(/^id: (\d+)$/gm)].at(-1)?.[1]

const count = Number(env.BENCH_STREAMS)
for (let stream = 0; stream < count; stream += openAtOnce) {
  const some = Math.min(openAtOnce, count - stream)
  await Promise.all(Array.from({ length: some }, (_, index) => open(stream + index)))
}
process.once('SIGTERM', () => {
  const lastIds = new Set([...last.values()].map(lastIdIn))
  console.log(JSON.stringify({ streams: last.size, lastIds: [...lastIds] }))
  process.exit()
})
console.log(JSON.stringify({ open: count }))
