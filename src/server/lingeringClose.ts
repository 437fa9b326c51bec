import type { Socket } from 'node:net'

const lingerMs = 5_000
/** More than the largest body. A proxy that is reset while it sends one responds with an error of its own. */
const lingerBytesMax = 32 * 1024 * 1024

/**
 * Closes a connection whose client may still be sending: ends our side, then reads and discards for a while. If unread
 * bytes were left when the socket is closed, the kernel would reset the connection, and the client would lose the
 * response. A client that sends more than the bounds allow is reset.
 */
export function lingeringClose(socket: Socket): void {
  let bytes = 0
  // Detaches Node's HTTP parser.
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > lingerBytesMax) socket.destroy()
  })
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroySoon())
  socket.end()
  if (socket.readableEnded) socket.destroySoon()
  else socket.resume()
}
