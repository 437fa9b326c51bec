import type { Readable } from 'node:stream'

const lengthBytes = 4
/** More than any image or file. */
const messageBytesMax = 16 * 1024 * 1024

/** A message between the service and the process that decodes photos: its length, then its bytes. */
export function encodeMessage(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

export const encodeJson = (value: unknown): Buffer => encodeMessage(Buffer.from(JSON.stringify(value)))

/** The messages of a stream. Ends with the stream; a message that is cut off is left out. */
export async function* readMessages(stream: Readable): AsyncGenerator<Buffer, undefined> {
  let chunks: Buffer[] = []
  let received = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    received += chunk.length
    let wanted = wantedBytes(chunks)
    while (wanted !== undefined && received >= wanted) {
      const all = Buffer.concat(chunks)
      yield all.subarray(lengthBytes, wanted)
      const rest = all.subarray(wanted)
      chunks = rest.length === 0 ? [] : [rest]
      received = rest.length
      wanted = wantedBytes(chunks)
    }
  }
  return undefined
}

/** The bytes of the first message with its length. Undefined if the length has not arrived. */
function wantedBytes(chunks: readonly Buffer[]): number | undefined {
  const start = (chunks[0]?.length ?? 0) >= lengthBytes ? chunks[0] : Buffer.concat(chunks)
  if (start === undefined || start.length < lengthBytes) return undefined
  const length = start.readUInt32BE()
  if (length > messageBytesMax) throw new Error(`A message has ${length} bytes.`)
  return lengthBytes + length
}
