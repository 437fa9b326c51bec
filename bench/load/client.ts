import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

type RawResponse = { readonly status: number; readonly head: string; readonly body: Buffer }

/**
 * A minimal HTTP/1.1 keep-alive connection for one request at a time. It costs a few microseconds per request; a full
 * HTTP client costs more than the server that is measured.
 */
export class Connection {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #pending: { resolve(response: RawResponse): void; reject(error: Error): void } | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#onData(bytes))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed the connection.')))
  }

  static async open(port: number, localAddress = '127.0.0.1'): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Sends a serialized request and waits for the complete response. */
  send(text: string): Promise<RawResponse> {
    if (this.#pending) throw new Error('Another request is in progress.')
    if (this.#socket.closed) throw new Error('The server has closed the connection.')
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject }
      this.#socket.write(text, 'latin1')
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #onData(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const head = this.#received.toString('latin1', 0, headEnd)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) {
      this.#fail(new Error(`Response without Content-Length:\n${head}`))
      return
    }
    const end = headEnd + 4 + Number(length)
    if (this.#received.length < end) return
    const body = this.#received.subarray(headEnd + 4, end)
    this.#received = this.#received.subarray(end)
    const pending = this.#pending
    this.#pending = undefined
    pending?.resolve({ status: Number(head.slice(9, 12)), head, body })
  }

  #fail(error: Error): void {
    this.#pending?.reject(error)
    this.#pending = undefined
  }
}

export function serializeRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: string,
): string {
  const all = {
    Host: '127.0.0.1',
    ...headers,
    ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}

/** Sends one request on a new connection. Fails if the response takes longer than the limit. */
export async function sendOnce(port: number, text: string, limitMs = 60_000): Promise<RawResponse> {
  const connection = await Connection.open(port)
  const timer = setTimeout(() => connection.close(), limitMs)
  try {
    return await connection.send(text)
  } finally {
    clearTimeout(timer)
    connection.close()
  }
}
