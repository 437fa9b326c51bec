import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'

/** A proxy between a service and PostgreSQL that simulates faults of the network and of the server. */
export type TcpProxy = {
  /** The connection string of a database through this proxy. */
  through(databaseUrl: string): string
  /** Ends every connection and rejects new ones. */
  refuse(): Promise<void>
  /** Accepts connections again at the same address. */
  accept(): Promise<void>
  /** Ends every connection at any point. New ones are accepted. */
  cut(): void
  /** Forwards no data and no end of a connection. New connections are accepted and receive nothing. */
  hang(): void
  /** Forwards everything again, including what was held back. */
  flow(): void
  /** The delay of each chunk, in both directions. */
  delay(ms: number): void
  /**
   * Cuts the connection on which this text is sent to PostgreSQL for the given time from now: before it arrives, or
   * after PostgreSQL has responded, so that only the response is lost. Resolves when that has happened.
   */
  cutAt(text: string, when: 'before' | 'afterResponse', count?: number): Promise<void>
  /** The round trips so far on connections on which this text was sent: turns from receiving to sending. */
  countRoundTrips(text: string): () => number
  /** Like `hang`, from the moment at which this text is sent. The text does not arrive. */
  hangAt(text: string): Promise<void>
}

/** In the statement, and in PostgreSQL's confirmation. */
const commitText = 'COMMIT\0'

type Trap = {
  bytes: Buffer
  /** What the response contains. Those to earlier statements arrive before it. */
  response: Buffer
  when: 'before' | 'afterResponse' | 'hang'
  left: number
  sprung(): void
  pair?: Pair
}
type Pair = { client: Socket; server: Socket }
type Counter = { bytes: Buffer; pairs: Set<Pair>; roundTrips: number }

export async function proxyFor(t: Pick<TestContext, 'after'>, databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const pairs = new Set<Pair>()
  let delayMs = 0
  let flowing: { promise: Promise<void>; resolve(): void } | undefined
  let trap: Trap | undefined
  let counter: Counter | undefined
  const lastSentByServer = new WeakMap<Pair, boolean>()

  function count(chunk: Buffer, pair: Pair, isToServer: boolean): void {
    const isTurn = isToServer && lastSentByServer.get(pair) !== false
    lastSentByServer.set(pair, !isToServer)
    if (isToServer && counter && chunk.includes(counter.bytes)) counter.pairs.add(pair)
    if (isTurn && counter?.pairs.has(pair)) counter.roundTrips++
  }

  const end = ({ client, server }: Pair) => {
    client.resetAndDestroy()
    server.resetAndDestroy()
  }

  function setTrap(text: string, when: Trap['when'], count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const response = Buffer.from(text === commitText ? commitText : '')
    trap = { bytes: Buffer.from(text), response, when, left: count, sprung: resolve }
    return promise
  }

  /** Whether a chunk is forwarded. It may trigger the trap. */
  function passes(chunk: Buffer, pair: Pair, isToServer: boolean): boolean {
    if (!trap) return true
    if (trap.pair !== undefined) {
      if (trap.pair !== pair || isToServer || !chunk.includes(trap.response)) return true
    } else {
      if (!isToServer || !chunk.includes(trap.bytes) || --trap.left > 0) return true
      if (trap.when === 'afterResponse') {
        trap.pair = pair
        return true
      }
    }
    const { sprung, when } = trap
    trap = undefined
    sprung()
    if (when !== 'hang') end(pair)
    else flowing ??= Promise.withResolvers<void>()
    return when === 'hang'
  }

  function carry(pair: Pair, isToServer: boolean): void {
    const [from, to] = isToServer ? [pair.client, pair.server] : [pair.server, pair.client]
    let way = Promise.resolve()
    /** Forwards chunks in order, after the delay, and none while the proxy hangs. */
    const later = (act: () => void) => {
      const dueAt = performance.now() + delayMs
      way = way.then(async () => {
        const leftMs = dueAt - performance.now()
        if (leftMs > 0) await pause(leftMs)
        while (flowing) await flowing.promise
        act()
      })
    }
    from.on('data', (chunk: Buffer) => {
      count(chunk, pair, isToServer)
      if (passes(chunk, pair, isToServer)) later(() => to.writable && to.write(chunk))
    })
    from.on('error', () => {})
    from.on('close', () => later(() => to.destroy()))
  }

  function take(client: Socket): void {
    const server = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    client.setNoDelay()
    const pair = { client, server }
    pairs.add(pair)
    server.once('close', () => pairs.delete(pair))
    carry(pair, true)
    carry(pair, false)
  }

  async function listen(port: number): Promise<Server> {
    const server = createServer(take)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  const close = async () => {
    for (const pair of pairs) end(pair)
    if (listener.listening) await new Promise((resolve) => listener.close(resolve))
  }

  let listener = await listen(0)
  const { port } = listener.address() as AddressInfo
  t.after(async () => {
    flowing?.resolve()
    flowing = undefined
    await close()
  })
  return {
    through(url) {
      const address = new URL(url)
      address.port = String(port)
      return address.href
    },
    refuse: close,
    async accept() {
      listener = await listen(port)
    },
    cut() {
      for (const pair of pairs) end(pair)
    },
    hang() {
      flowing ??= Promise.withResolvers<void>()
    },
    flow() {
      flowing?.resolve()
      flowing = undefined
    },
    delay(ms) {
      delayMs = ms
    },
    cutAt: (text, when, count = 1) => setTrap(text, when, count),
    countRoundTrips(text) {
      const counted: Counter = { bytes: Buffer.from(text), pairs: new Set(), roundTrips: 0 }
      counter = counted
      return () => counted.roundTrips
    },
    hangAt: (text) => setTrap(text, 'hang', 1),
  }
}
