import { createHash } from 'node:crypto'
import * as z from 'zod'
import { ApiError } from './errors.ts'
import { type OperationResult, respond } from './operation.ts'

/** Cursors are opaque to callers: JSON with a checksum that detects damage. */

const checksumBytes = 6
const checksum = (payload: Buffer) => createHash('sha256').update(payload).digest().subarray(0, checksumBytes)

/** `kind` names the list: a cursor is valid for that list only. */
export function sealCursor(kind: string, payload: readonly unknown[]): string {
  const bytes = Buffer.from(JSON.stringify([kind, ...payload]))
  return Buffer.concat([checksum(bytes), bytes]).toString('base64url')
}

/** The payload of a cursor of this list. */
export function openCursor<S extends z.ZodType>(kind: string, form: S, cursor: string): z.output<S> {
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(checksumBytes)
  // Encoding it again detects characters that decoding ignores.
  const isWhole =
    bytes.toString('base64url') === cursor && checksum(payload).equals(bytes.subarray(0, checksumBytes))
  const content = isWhole ? contentOf(payload) : undefined
  const opened = Array.isArray(content) && content[0] === kind ? form.safeParse(content.slice(1)) : undefined
  if (!opened?.success) throw new ApiError('invalid_cursor')
  return opened.data
}

/** A cursor that contains only the last id of the previous page. */
export const idCursor = z.tuple([z.int()])

/** A valid checksum does not prove that the service made the cursor. */
function contentOf(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return undefined
  }
}

type PageOptions<T> = {
  readonly publicUrl: string | undefined
  readonly path: string
  readonly limit: number
  /** The filters of the list, as query parameters. */
  readonly filters?: readonly (readonly [string, string])[]
  /** The cursor of the page after this item. */
  cursorAfter(last: T): string
}

/**
 * One page of a list. `found` has one item more than the page if there is a next page, which `Link: <...>; rel="next"`
 * then refers to.
 */
export function pageAnswer<T>(
  found: readonly T[],
  show: (item: T) => unknown,
  options: PageOptions<T>,
): OperationResult {
  const { publicUrl, path, limit, filters = [], cursorAfter } = options
  const page = found.slice(0, limit)
  const last = page.at(-1)
  if (found.length === page.length || last === undefined) return respond(200, page.map(show))
  const query = [['limit', String(limit)] as const, ...filters, ['cursor', cursorAfter(last)] as const]
  return respond(200, page.map(show), { Link: nextLink(publicUrl, path, query) })
}

/** The value of `Link` for the next page of the same list. */
export function nextLink(
  publicUrl: string | undefined,
  path: string,
  query: readonly (readonly [string, string])[],
) {
  const parameters = new URLSearchParams(query.map(([name, value]) => [name, value]))
  return `<${publicUrl ?? ''}${path}?${parameters}>; rel="next"`
}
