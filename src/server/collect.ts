/** Reads a body. Stops reading and returns undefined once it is larger than `bytesMax`. */
export async function collectBody(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const collected: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.length
    if (bytes > bytesMax) return undefined
    collected.push(chunk)
  }
  return collected.length === 1 ? collected[0] : Buffer.concat(collected)
}
