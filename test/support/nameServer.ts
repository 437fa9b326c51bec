import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** The addresses of a name, a failure, or no response at all. */
export type Records =
  | readonly string[]
  | {
      /** Only the addresses of this family are found; the other family's query gets no response. */
      silentFamily?: 4 | 6
      /** The name is an alias of another one, which has the addresses. */
      cname?: string
      /** The response does not fit into a datagram. */
      isTruncated?: boolean
      addresses: readonly string[]
    }
  | 'NXDOMAIN'
  | 'SERVFAIL'
  | 'silent'

export type NameServer = {
  /** As dns.Resolver takes it. */
  readonly address: string
  /** Every query so far, as `A shelter.example`, over UDP or TCP. */
  readonly queries: string[]
  stop(): Promise<void>
}

const typeA = 1
const typeCname = 5
const typeAaaa = 28
const responseCodes = { NXDOMAIN: 3, SERVFAIL: 2 } as const
const portTriesMax = 20

type Query = { id: number; name: string; type: number; question: Buffer }

function readQuery(message: Buffer): Query {
  const labels: string[] = []
  let offset = 12
  for (let length = message[offset] ?? 0; length > 0; length = message[offset] ?? 0) {
    labels.push(message.toString('latin1', offset + 1, offset + 1 + length))
    offset += length + 1
  }
  const type = message.readUInt16BE(offset + 1)
  const name = labels.join('.').toLowerCase()
  return { id: message.readUInt16BE(0), name, type, question: message.subarray(12, offset + 5) }
}

const encodeName = (name: string) =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1')),
    Buffer.from([0]),
  ])

function encodeAddress(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...left, ...Array(8 - left.length - right.length).fill('0'), ...right]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

function record(name: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([name, fixed, data])
}

function encodeResponse(query: Query, records: Exclude<Records, 'silent'>, isTruncated: boolean): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(query.id, 0)
  const code = typeof records === 'string' ? responseCodes[records] : 0
  header.writeUInt16BE(0x8180 | (isTruncated ? 0x0200 : 0) | code, 2)
  header.writeUInt16BE(1, 4)
  const parts: Buffer[] = []
  if (typeof records !== 'string' && !isTruncated) {
    const { cname, addresses } =
      'addresses' in records ? records : { cname: undefined, addresses: records as readonly string[] }
    if (cname !== undefined) parts.push(record(encodeName(query.name), typeCname, encodeName(cname)))
    for (const address of addresses) {
      const type = address.includes(':') ? typeAaaa : typeA
      if (type === query.type)
        parts.push(record(encodeName(cname ?? query.name), type, encodeAddress(address)))
    }
  }
  header.writeUInt16BE(parts.length, 6)
  return Buffer.concat([header, query.question, ...parts])
}

/** A DNS server on this machine, over UDP and TCP. `records` is called once for every query. */
export async function startNameServer(
  records: (name: string, family: 4 | 6) => Records,
): Promise<NameServer> {
  const queries: string[] = []

  function respond(message: Buffer, isTcp: boolean): Buffer | undefined {
    const query = readQuery(message)
    const family = query.type === typeA ? 4 : 6
    queries.push(`${family === 4 ? 'A' : 'AAAA'} ${query.name}`)
    const found = records(query.name, family)
    if (found === 'silent') return undefined
    const options = typeof found === 'object' && 'addresses' in found ? found : undefined
    if (options?.silentFamily === family) return undefined
    return encodeResponse(query, found, !isTcp && (options?.isTruncated ?? false))
  }

  const tcp = createServer((socket) => {
    socket.on('error', () => {})
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0)
        const response = respond(received.subarray(2, end), true)
        received = received.subarray(end)
        if (!response) continue
        const length = Buffer.alloc(2)
        length.writeUInt16BE(response.length)
        socket.write(Buffer.concat([length, response]))
      }
    })
  })
  const udp = createSocket('udp4', (message, { address, port }) => {
    const response = respond(message, false)
    if (response) udp.send(response, port, address)
  })
  const port = await listenOnBoth(tcp, udp)
  return {
    address: `127.0.0.1:${port}`,
    queries,
    async stop() {
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ])
    },
  }
}

/** DNS has one port for both protocols, and a free one of one protocol may be taken in the other. */
async function listenOnBoth(
  tcp: ReturnType<typeof createServer>,
  udp: ReturnType<typeof createSocket>,
): Promise<number> {
  for (let tries = 0; tries < portTriesMax; tries++) {
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve))
    const { port } = tcp.address() as { port: number }
    const isBound = await new Promise<boolean>((resolve) => {
      udp.once('error', () => resolve(false))
      udp.bind(port, '127.0.0.1', () => resolve(true))
    })
    if (isBound) return port
    await new Promise<void>((resolve) => tcp.close(() => resolve()))
  }
  throw new Error('No port is free for both UDP and TCP.')
}
