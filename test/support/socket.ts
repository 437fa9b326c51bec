import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A bare connection, for callers who do not behave: what is written is sent, what comes back is kept as it came. */
export type Caller = {
  readonly socket: Socket
  readonly openedAt: number
  /** Everything that has been received so far. */
  received(): string
  /** The next whole answer; its body must have a Content-Length. */
  answer(): Promise<{ status: number; head: string; body: string }>
  /** Settles when the other side has closed; says how long after the opening, and whether it was a reset. */
  readonly closed: Promise<{ afterMs: number; error: NodeJS.ErrnoException | undefined }>
}

export async function call(base: string, ...writes: string[]): Promise<Caller> {
  const { hostname, port } = new URL(base)
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: string[] = []
  // What no answer was found in yet; a part of all that came would keep all of it in memory.
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

  async function answer() {
    for (;;) {
      const whole = wholeAnswer(rest)
      if (whole) {
        rest = rest.slice(whole.length)
        return whole
      }
      if (socket.closed) throw new Error(`The connection ended after: ${rest}`, { cause: error })
      await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed])
    }
  }

  return { socket, openedAt, received: () => chunks.join(''), answer, closed }
}

function wholeAnswer(text: string) {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const head = text.slice(0, headEnd)
  const bodyLength = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  const length = headEnd + 4 + bodyLength
  if (text.length < length) return undefined
  return { status: Number(head.split(' ')[1]), head, body: text.slice(headEnd + 4, length), length }
}
