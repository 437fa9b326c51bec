import { connect } from 'node:net'

type Sending = {
  /** Ends the writable side after the bytes. */
  hangUp?: boolean
}

/** Writes bytes to the server and returns everything received until the connection closes. */
export function sendRaw(
  base: string,
  bytes: string | Uint8Array,
  { hangUp = false }: Sending = {},
): Promise<string> {
  const { hostname, port } = new URL(base)
  const { promise, resolve } = Promise.withResolvers<string>()
  const chunks: Buffer[] = []
  const socket = connect(Number(port), hostname)
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // The server may reset the connection. What it sent before counts.
  socket.on('error', () => {})
  socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  socket.write(bytes)
  if (hangUp) socket.end()
  return promise
}

/** The status of a raw response; undefined if the connection closed without one. */
export const statusOf = (raw: string): number | undefined => {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(raw)?.[1]
  return status === undefined ? undefined : Number(status)
}

export const bodyOf = (raw: string): string => raw.slice(raw.indexOf('\r\n\r\n') + 4)
