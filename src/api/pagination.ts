import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Db } from '../database/db.ts'
import { ApiError, apiErrors } from './errors.ts'
import { type Context, type Operation, type OperationResult, type ReadContext, respond } from './operation.ts'
import { digitsText, schemaDocumentation } from './validation.ts'

const pageLimitMax = 100
const pageLimitDefault = 20

/** The maximum number of items of a page. */
export const pageLimit = (max = pageLimitMax, fallback = pageLimitDefault) =>
  digitsText(1, max)
    .optional()
    .transform((value) => value ?? fallback)
    .register(schemaDocumentation, {
      schema: { type: 'integer', minimum: 1, maximum: max, default: fallback },
    })
    .meta({ description: 'The maximum number of items on a page.' })

/** The query parameters of every list. */
export const pageQuery = {
  limit: pageLimit(),
  cursor: z.string().optional().meta({
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Where the page begins: the `cursor` of the `Link` header of the previous page.',
  }),
}

/** The items of one page. `content` names them and their order, for OpenAPI. */
export const pageSchema = <S extends z.ZodType>(item: S, id: string, content: string) =>
  z.array(item).meta({ id, description: `One page of ${content}.` })

/** Whether an operation returns pages that a cursor continues. */
export const isPaginated = ({ query }: Operation): boolean => 'cursor' in (query?.shape ?? {})

/** The `Link` header of a list, for OpenAPI. */
export const nextPageLink = { Link: 'The URL of the next page, with `rel="next"`. Absent on the last page.' }

/** Cursors are opaque to callers: JSON with a checksum that detects damage. */

const checksumBytes = 6
const checksum = (payload: Buffer) => createHash('sha256').update(payload).digest().subarray(0, checksumBytes)

/** A cursor is valid only for the list that it names. */
export function encodeCursor(list: string, payload: readonly unknown[]): string {
  const bytes = Buffer.from(JSON.stringify([list, ...payload]))
  return Buffer.concat([checksum(bytes), bytes]).toString('base64url')
}

/** The payload of a cursor of this list; undefined if it is not one. */
function decodeCursor(list: string, cursor: string): unknown[] | undefined {
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(checksumBytes)
  // Encoding it again detects characters that decoding ignores.
  const isIntact =
    bytes.toString('base64url') === cursor && checksum(payload).equals(bytes.subarray(0, checksumBytes))
  const content = isIntact ? parsePayload(payload) : undefined
  return Array.isArray(content) && content[0] === list ? content.slice(1) : undefined
}

/** A valid checksum does not prove that the service made the cursor. */
function parsePayload(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString())
  } catch {
    return undefined
  }
}

/** Cursors of a list in order of id: the id of the last item of a page and the filters of the list. */
export class ListCursor<Filter extends object = object, Id extends number | bigint = number> {
  readonly #list: string
  readonly #payload: z.ZodType<[Id, Filter]>

  constructor(list: string, filter: z.ZodType<Filter> = noFilter, id: z.ZodType<Id> = numberId) {
    this.#list = list
    this.#payload = z.tuple([id, filter]) as unknown as z.ZodType<[Id, Filter]>
  }

  encode(lastId: Id, filter: Filter): string {
    const texts = definedEntries(filter).map(([name, value]) => [name, toText(value)])
    const id = typeof lastId === 'bigint' ? String(lastId) : lastId
    return encodeCursor(this.#list, [id, Object.fromEntries(texts)])
  }

  /** The start and the filters of a page. Filters that are sent with a cursor must be equal to those in it. */
  decode(cursor: string | undefined, sent: Filter): [lastId: Id | undefined, filter: Filter] {
    if (cursor === undefined) return [undefined, sent]
    const decoded = this.#payload.safeParse(decodeCursor(this.#list, cursor))
    if (!decoded.success) throw new ApiError(apiErrors.invalid_cursor)
    const [lastId, filter] = decoded.data
    for (const [name, value] of definedEntries(sent))
      if (String(value) !== String(filter[name as keyof Filter])) throw new ApiError(apiErrors.invalid_cursor)
    return [lastId, filter]
  }
}

const noFilter = z.object({}) as z.ZodType as z.ZodType<never>
const numberId = z.int() as z.ZodType as z.ZodType<never>
const toText = (value: unknown) => (Array.isArray(value) ? value.map(String) : String(value))
const definedEntries = (values: object) => Object.entries(values).filter(([, value]) => value !== undefined)

type PageQuery = { readonly limit: number; readonly cursor?: string | undefined }

/**
 * The handler of a list, which returns one page, with the `Link` of the next page if there is one. `find` finds at most
 * `limit` items after an id.
 */
export const pageReader =
  <T extends { id: Id }, Filter extends object, Id extends number | bigint>(
    cursors: ListCursor<Filter, Id>,
    find: (
      db: Db,
      limit: number,
      lastId: Id | undefined,
      filter: Filter,
      now: number,
    ) => Promise<readonly T[]>,
    serialize: (item: T, now: number) => unknown = (item) => item,
  ) =>
  async ({ query }: { query: PageQuery & Filter }, context: ReadContext): Promise<OperationResult> => {
    const { limit, cursor, ...sent } = query
    const { db, now } = context
    const [lastId, filter] = cursors.decode(cursor, sent as unknown as Filter)
    // One more than the page tells whether there is a next page.
    const found = await find(db, limit + 1, lastId, filter, now)
    const page = found.slice(0, limit)
    const json = page.map((item) => serialize(item, now))
    const last = page.at(-1)
    if (found.length === page.length || !last) return respond(200, json)
    const next = { limit, ...filter, cursor: cursors.encode(last.id, filter) }
    return respond(200, json, { Link: nextLink(context, next) })
  }

/** The value of `Link` for the next page of the list that is requested. */
export function nextLink({ publicUrl, path }: Context, query: object): string {
  const parameters = definedEntries(query).flatMap(([name, value]) =>
    [toText(value)].flat().map((text) => [name, text]),
  )
  return `<${publicUrl}${path}?${new URLSearchParams(parameters)}>; rel="next"`
}
