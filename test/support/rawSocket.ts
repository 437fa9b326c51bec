import { connect } from 'node:net'

type Sending = {
  /** Says that no more will come, as a caller does who hangs up halfway. */
  hangUp?: boolean
}

/** Writes bytes to the server as they are, and answers all that comes back until the connection closes. */
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
  // A server that has heard enough may reset the connection: what it said before is what counts.
  socket.on('error', () => {})
  socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')))
  socket.write(bytes)
  if (hangUp) socket.end()
  return promise
}

/** The status of a raw answer; undefined where the connection closed without one. */
export const statusOf = (raw: string): number | undefined => {
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(raw)?.[1]
  return status === undefined ? undefined : Number(status)
}

export const bodyOf = (raw: string): string => raw.slice(raw.indexOf('\r\n\r\n') + 4)
