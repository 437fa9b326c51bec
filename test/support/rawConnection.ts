import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A raw connection, for callers that break the protocol. */
export type RawConnection = {
  readonly socket: Socket
  readonly openedAt: number
  /** Everything received so far. */
  received(): string
  /** The next complete response. Its body must have a Content-Length. */
  response(): Promise<{ status: number; head: string; body: string }>
  /** Resolves when the server has closed the connection: how long after the opening, and the error of a reset. */
  readonly closed: Promise<{ afterMs: number; error: NodeJS.ErrnoException | undefined }>
}

export async function openRawConnection(base: string, ...writes: string[]): Promise<RawConnection> {
  const { hostname, port } = new URL(base)
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: string[] = []
  // The part without a complete response. A slice of everything received would keep all of it in memory.
  let rest = ''
  let error: NodeJS.ErrnoException | undefined
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    chunks.push(chunk)
    rest += chunk
  })
  socket.on('error', (problem) => {
    error = problem
  })
  await once(socket, 'connect')
  const openedAt = performance.now()
  const closed = new Promise<{ afterMs: number; error: typeof error }>((resolve) => {
    socket.once('close', () => resolve({ afterMs: performance.now() - openedAt, error }))
  })
  for (const part of writes) socket.write(part)

  async function response() {
    // Looking at the text after each chunk would copy all of it each time.
    let lengthMin = 0
    for (;;) {
      const next = rest.length >= lengthMin ? parseResponse(rest) : undefined
      if (next) lengthMin = next.length
      if (next && rest.length >= next.length) {
        rest = rest.slice(next.length)
        return next
      }
      if (socket.closed) throw new Error(`The connection ended after: ${rest}`, { cause: error })
      await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed])
    }
  }

  return { socket, openedAt, received: () => chunks.join(''), response, closed }
}

/** The first response, of which the body may not be complete. Undefined if its head is not. */
function parseResponse(text: string) {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const head = text.slice(0, headEnd)
  const bodyLength = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  const length = headEnd + 4 + bodyLength
  return { status: Number(head.split(' ')[1]), head, body: text.slice(headEnd + 4, length), length }
}
