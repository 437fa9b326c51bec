import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { eventually } from './eventually.ts'

type ReceivedEvent = { id: number; type: string; data: unknown }

/** A stream of server-sent events and what it has received. */
export type EventStreamClient = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly incoming: IncomingMessage
  /** Everything received, including comments, split at blank lines. */
  readonly blocks: string[]
  readonly events: ReceivedEvent[]
  /** Waits until this many events have arrived in total. */
  until(count: number, boundMs?: number): Promise<ReceivedEvent[]>
  untilBlock(block: string, boundMs?: number): Promise<void>
  /** Resolves when the stream has ended. `isWhole` is false if the connection broke. */
  readonly ended: Promise<{ isWhole: boolean }>
  disconnect(): void
}

export type EventStreamOptions = {
  key: string
  path?: string
  headers?: Record<string, string>
  isPaused?: boolean
}

export function openEventStream(
  base: string,
  { key, path = '/v1/events', headers = {}, isPaused = false }: EventStreamOptions,
): Promise<EventStreamClient> {
  return new Promise((resolve, reject) => {
    const outgoing: ClientRequest = request(new URL(path, base), {
      agent: false,
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream', ...headers },
    })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => resolve(listening(outgoing, incoming, isPaused)))
    outgoing.end()
  })
}

function listening(outgoing: ClientRequest, incoming: IncomingMessage, isPaused: boolean): EventStreamClient {
  const blocks: string[] = []
  const received: ReceivedEvent[] = []
  let rest = ''
  incoming.setEncoding('utf8')
  incoming.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    blocks.push(...parts)
    received.push(...parts.flatMap(parseEvents))
  })
  if (isPaused) incoming.pause()
  // A broken connection also emits `close`.
  incoming.on('error', () => {})
  const ended = new Promise<{ isWhole: boolean }>((settle) => {
    incoming.on('close', () => settle({ isWhole: incoming.complete }))
  })
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    incoming,
    blocks,
    events: received,
    async until(count, boundMs) {
      await eventually(`${count} events on the stream`, () => received.length >= count, boundMs)
      return received
    },
    async untilBlock(block, boundMs) {
      await eventually(`${block} on the stream`, () => blocks.includes(block), boundMs)
    },
    ended,
    disconnect: () => void outgoing.destroy(),
  }
}

function parseEvents(block: string): ReceivedEvent[] {
  const fields = new Map(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
  )
  const id = fields.get('id')
  if (id === undefined) return []
  const { id: saidId, type, data } = JSON.parse(fields.get('data') ?? '')
  if (String(saidId) !== id || type !== fields.get('event'))
    throw new Error(`The fields of the event contradict its data: ${block}`)
  return [{ id: Number(id), type, data }]
}
