/**
 * Creates pets at one instance and reads the event stream of another. Prints as JSON how many milliseconds after the
 * response to its create each event arrived.
 */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../statistics.ts'
import { Connection, serializeRequest } from './client.ts'

/** Irregular, because instances poll at regular intervals. */
const pauseMaxMs = 100
const arrivalMaxMs = 10_000

const { env } = process
const random = seededRandom(Number(env.BENCH_SEED))

const headers = { Authorization: env.BENCH_STREAM_AUTHORIZATION ?? '', Accept: 'text/event-stream' }
const opened = get({ host: '127.0.0.1', port: Number(env.BENCH_STREAM_PORT), path: '/v1/events', headers })
const [stream] = (await once(opened, 'response')) as [IncomingMessage]
if (stream.statusCode !== 200) throw new Error(`The stream had status ${stream.statusCode}.`)

/** By the id of the pet. */
const respondedAt = new Map<number, number>()
const arrivedAt = new Map<number, number>()
createInterface(stream).on('line', (line) => {
  if (line.startsWith('data: '))
    arrivedAt.set(JSON.parse(line.slice('data: '.length)).data.id, performance.now())
})

const connection = await Connection.open(Number(env.BENCH_PORT))
const create = serializeRequest(
  'POST',
  env.BENCH_PATH ?? '/',
  { Authorization: env.BENCH_AUTHORIZATION ?? '', 'Content-Type': 'application/json' },
  env.BENCH_BODY,
)
for (let count = 0; count < Number(env.BENCH_COUNT); count++) {
  const { status, head, body } = await connection.send(create)
  if (status !== 201) throw new Error(`A response was not 201:\n${head}`)
  respondedAt.set(JSON.parse(body.toString()).id, performance.now())
  await sleep(random() * pauseMaxMs)
}

const deadline = performance.now() + arrivalMaxMs
const isComplete = () => respondedAt.keys().every((id) => arrivedAt.has(id))
while (!isComplete() && performance.now() < deadline) await sleep(pauseMaxMs)
if (!isComplete()) throw new Error('An event did not arrive.')
// An event can arrive before the response.
const delaysMs = [...respondedAt].map(([id, at]) => Math.max(0, (arrivedAt.get(id) ?? Number.NaN) - at))
console.log(JSON.stringify({ delaysMs }))
process.exit()
