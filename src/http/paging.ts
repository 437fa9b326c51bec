import { createHash } from 'node:crypto'
import { ApiError } from './errors.ts'

/** Cursors are opaque to callers: a JSON text with a checksum, so that a damaged one is noticed. */

const checksumBytes = 6
const checksum = (payload: Buffer) => createHash('sha256').update(payload).digest().subarray(0, checksumBytes)

/** `kind` names the list, so that a cursor of one is not mistaken for a cursor of another. */
export function sealCursor(kind: string, payload: readonly unknown[]): string {
  const bytes = Buffer.from(JSON.stringify([kind, ...payload]))
  return Buffer.concat([checksum(bytes), bytes]).toString('base64url')
}

export function openCursor(kind: string, cursor: string): unknown[] {
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(checksumBytes)
  // Encoding again finds characters that decoding passes over.
  const isWhole =
    bytes.toString('base64url') === cursor && checksum(payload).equals(bytes.subarray(0, checksumBytes))
  const content = isWhole ? contentOf(payload) : undefined
  if (!Array.isArray(content) || content[0] !== kind) throw new ApiError('invalid_cursor')
  return content.slice(1)
}

/** Anyone can make a checksum, so a whole cursor may still be none of ours. */
function contentOf(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return undefined
  }
}

/** `Link: <...>; rel="next"`: the same list, one page on. */
export function nextLink(
  publicUrl: string | undefined,
  path: string,
  query: readonly (readonly [string, string])[],
) {
  const parameters = new URLSearchParams(query.map(([name, value]) => [name, value]))
  return `<${publicUrl ?? ''}${path}?${parameters}>; rel="next"`
}
