import type * as z from 'zod'
import type { Clock } from '../clock.ts'
import type { Db, Trx } from '../database/db.ts'
import type { RowSource } from '../database/tables.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { ErrorDefinition } from './errors.ts'
import { toJson } from './json.ts'
import type { BodyLimits } from './request.ts'
import type { StreamBody } from './streamBody.ts'

/** An authenticated caller. */
export type Principal = {
  readonly keyId: number
  readonly token: string
  readonly scopes: ReadonlySet<string>
  /** Browser origins that the key is restricted to; none for a secret key. */
  readonly origins: readonly string[]
}

export type OperationResult = {
  status: number
  json?: string
  /** What `json` contains. */
  value?: unknown
  /** In place of JSON, with its headers. Not for a POST: an idempotency record has JSON only. */
  bytes?: Uint8Array
  /** Server-sent events, in place of JSON. */
  stream?: StreamBody
  /** The response must not be cached: it depends on the scopes of the caller, or may lack recent changes. */
  isUncacheable?: boolean
  headers?: Record<string, string>
  /** The subject of the response, if erasing that subject must also erase it from idempotency records. */
  subjectRef?: string
}

export const respond = (
  status: number,
  value?: unknown,
  headers: Record<string, string> = {},
): OperationResult =>
  value === undefined ? { status, headers } : { status, json: toJson(value), value, headers }

export type Context = {
  readonly now: number
  /** For work that outlasts the request. */
  readonly clock: Clock
  readonly principal: Principal
  /** The client's address. */
  readonly address: string
  /** The path of the request, without the query. */
  readonly path: string
  /** The URL of the service; empty if it is not known, so that URLs are relative. */
  readonly publicUrl: string
  header(name: string): string | undefined
  /** Whether the caller has closed the connection, so that it gets no response. */
  isDisconnected(): boolean
}

export type ReadContext = Context & {
  /** The database, or a replica of it if the operation and the caller accept that. */
  readonly db: Db
}

export type WriteContext = Context & {
  /** As it is logged: without secrets that the client put into it. */
  readonly requestId: string
  /** The transaction of this request. */
  readonly trx: Trx
  /** Erases data of a subject from the idempotency records about it. */
  eraseFromIdempotencyRecords(subjectRef: string, erase: (json: string) => string): Promise<void>
  /** Runs once the transaction is durable, also if the response was a 503 before that. */
  afterCommit(action: () => void): void
}

export type Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject> = {
  params: z.output<P>
  query: z.output<Q>
  body: z.output<B>
  /** The body of an operation with `rawBody`. */
  bytes: Uint8Array
}

/** A request body that is not JSON, and how long it may take to arrive. */
export type RawBody = Required<BodyLimits> & {
  /** The media types that it may have, without parameters. */
  readonly types: readonly string[]
  /** What to do with a body of another type. */
  readonly advice?: string
}

/** Identifies a request with an `Idempotency-Key`, for a record that the operation stores itself. */
export type RecordKey = { readonly keyId: number; readonly key: string; readonly fingerprint: string }

export type BatchedRequest<I> = {
  readonly input: I
  readonly now: number
  /** The key of the caller. */
  readonly keyId: number
  /** The idempotency record to store with the response. */
  readonly record: RecordKey | undefined
}

type Stability = 'stable' | 'beta' | 'experimental'
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
type ResponseDescription = {
  description: string
  schema?: z.ZodType
  /** The media types of a body that is not JSON. */
  types?: readonly string[]
  /** Headers that this response always has, with their descriptions. */
  headers?: Record<string, string>
  /** Headers that it may have. */
  optionalHeaders?: Record<string, string>
  /** Server-sent events, which the caller may request in place of JSON. */
  stream?: { description: string; example: string }
}

/** A message that the service sends to a URL of the caller: a webhook in OpenAPI. */
export type MessageDescription = {
  name: string
  id: string
  summary: string
  description: string
  schema: z.ZodType
  examples: Record<string, unknown>
  headers: Record<string, { description: string; schema: Record<string, unknown>; example: unknown }>
  /** What the receiver's responses mean, by status. */
  responses: Record<string, string>
}

export type RequestHeader = { description: string; schema: Record<string, unknown> }

/**
 * The response depends on the rows of one id alone, so it is cached until one of them changes. It is JSON with an ETag and
 * no other headers, and does not depend on the query. The handler reads synchronously, with prepared queries. On PostgreSQL,
 * which cannot tell which rows have changed, `cacheable` applies instead.
 */
type CachedRowDefinition = {
  /** Positive or zero. Undefined if the response is not cached. */
  id(params: Readonly<Record<string, string>>): number | undefined
  /** Every table that the response is made of, and its column with the id. */
  dependsOn: readonly RowSource[]
}

/** The single definition of an operation: its checks, types and OpenAPI entry. */
type OperationDefinition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject, T> = {
  tag: string
  summary: string
  description?: string
  stability?: Stability
  /** The scope that the key must have; undefined if every key may use the operation. */
  scope?: string
  /** Does not count for the rate limit of the key. */
  rateLimitExempt?: boolean
  deprecation?: Deprecation
  params?: P
  /** The error for a path parameter that is not valid. */
  notFound?: ErrorDefinition
  query?: Q
  body?: B
  isBodyOptional?: boolean
  /** If `body` may be larger than other bodies. */
  jsonBytesMax?: number
  /** In place of `body`. */
  rawBody?: RawBody
  /** Descriptions; with a schema if the header is validated. */
  requestHeaders?: Record<string, string | RequestHeader>
  responses: Record<number, ResponseDescription>
  /** The path of the resource that a 201 has created, relative to the base path. It becomes the `Location` header. */
  location?(created: { readonly id: unknown }, input: Input<P, Q, B>): string
  errors?: readonly ErrorDefinition[]
  /** What is sent later to a URL that the caller registers with this operation. */
  sends?: MessageDescription
  /** The response contains a secret that is shown once and never stored in plain text. */
  hasSecretResponse?: boolean
  /**
   * The response depends on the database and the target alone, so it is cached until the database changes. `today`: it also
   * depends on the date in UTC.
   */
  cacheable?: boolean | 'today'
  cachedRow?: CachedRowDefinition
  /** The response may come from a read replica if the caller prefers that: the handler reads with `context.db` alone. */
  allowsReplica?: boolean
  /** What a write locks first. At most two with the same subject run at the same time in a process. */
  subject?(input: Input<P, Q, B>): string
  /**
   * Throws an error of `write` that committed data already causes. One call decides for all requests with the same subject
   * that wait, so it depends on nothing but the subject and the time. See `Precheck`.
   */
  precheck?(input: Input<P, Q, B>, context: ReadContext): Promise<void>
  read?(input: Input<P, Q, B>, context: ReadContext): MaybePromise<OperationResult>
  /**
   * Slow work before the transaction of `write`, which gets the result. It runs once for a request, also if the transaction
   * is repeated, and not for a request whose response is replayed.
   */
  prepare?(input: Input<P, Q, B>, context: ReadContext): Promise<T>
  write?(input: Input<P, Q, B>, context: WriteContext, prepared: T): Promise<OperationResult>
  /**
   * Runs many requests with one statement, in place of `write`. The result is undefined for a request that has an
   * idempotency record, or that another instance runs: `write` is called for it. Not together with `prepare`,
   * which a batch does not call.
   */
  writeBatch?(
    requests: readonly BatchedRequest<Input<P, Q, B>>[],
  ): Promise<readonly (OperationResult | undefined)[]>
}

/** The announced removal of an operation (RFC 9745, RFC 8594) and its replacement. */
export type Deprecation = {
  readonly sinceMs: number
  readonly sunsetMs: number
  /** The guide page, relative to the service's root. */
  readonly guide: string
  readonly successor: string
  readonly message: string
}

export type Operation = OperationDefinition<z.ZodObject, z.ZodObject, z.ZodObject, unknown> & {
  id: string
  method: Method
  /** Relative to the base path, with `{name}` for parameters. */
  path: string
}

/** Lets TypeScript infer the handler's input from the schemas. Throws if parts of the definition exclude each other. */
export function defineOperation<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject, T>(
  id: string,
  route: `${Method} ${string}`,
  definition: OperationDefinition<P, Q, B, T>,
): Operation {
  const [method, path] = route.split(' ')
  if (definition.writeBatch && definition.prepare)
    throw new Error(`${id} has both writeBatch and prepare, but a batch is not prepared.`)
  if (method === 'POST' && Object.values(definition.responses).some(({ types }) => types))
    throw new Error(`${id} is a POST whose response is not JSON, so it could not be replayed.`)
  return { id, method, path, ...definition } as unknown as Operation
}
