import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { StreamBody } from './streamBody.ts'

/**
 * Sends a stream as the body of a response whose head is chunked. Chunks go to the socket with the frame that all
 * streams share: `response.write` would frame each one again, and takes three times as long (24 µs in place of 8).
 */
export function sendStream(body: StreamBody, response: ServerResponse): void {
  const { socket } = response.req
  if (response.socket) return void sendOn(socket, body, response)
  if (socket.destroyed) return void body.cancel()
  // Earlier responses on the same connection go first. The head follows the event, so the body comes after that.
  socket.once('close', body.cancel)
  response.once('socket', () =>
    queueMicrotask(() => {
      socket.off('close', body.cancel)
      sendOn(socket, body, response)
    }),
  )
}

function sendOn(socket: Socket, body: StreamBody, response: ServerResponse): void {
  if (socket.destroyed) return void body.cancel()
  socket.cork()
  response.flushHeaders()
  const { onDrain, onClose } = body.start({
    write: ({ framed }) => socket.write(framed),
    end({ framed }) {
      socket.write(framed)
      response.end()
    },
  })
  socket.uncork()
  destroyOnClientEnd(socket, response)
  socket.on('drain', onDrain)
  response.once('close', () => {
    socket.off('drain', onDrain)
    onClose()
  })
}

/** A stream ends when the client closes its side of the connection. */
export function destroyOnClientEnd(socket: Socket, response: ServerResponse): void {
  const leave = () => void socket.destroy()
  if (socket.readableEnded) leave()
  socket.once('end', leave)
  response.once('close', () => socket.off('end', leave))
}
