import type { Socket } from 'node:net'

const lingerMs = 5_000
const lingerBytesMax = 8 * 1024 * 1024

/**
 * Closes a connection whose client may still be sending: ends our side, then reads and discards for a while. If unread
 * bytes were left when the socket is closed, the kernel would reset the connection, and the client would lose the
 * response. A client that sends more than the bounds allow is reset all the same.
 */
export function lingeringClose(socket: Socket, lastText?: string): void {
  let bytes = 0
  // Node's parser is done with this connection.
  socket.removeAllListeners('data')
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > lingerBytesMax) socket.destroy()
  })
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroySoon())
  if (lastText === undefined) socket.end()
  else socket.end(lastText)
  if (socket.readableEnded) socket.destroySoon()
  else socket.resume()
}
