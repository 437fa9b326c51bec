import type { Kysely } from 'kysely'
import type * as z from 'zod'
import type { Clock } from '../clock.ts'
import type { Tables } from '../database/tables.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { Deprecation } from './deprecation.ts'
import type { ErrorCode } from './errors.ts'
import { toJson } from './json.ts'
import type { StreamBody } from './streamBody.ts'

/** Who asks, once the door has let them in. */
export type Principal = {
  readonly keyId: number
  readonly token: string
  readonly scopes: ReadonlySet<string>
  /** Browser origins that the key is locked to; none for a secret key. */
  readonly origins: readonly string[]
}

export type OperationResult = {
  status: number
  json?: string
  /** Server-sent events, in place of JSON. */
  stream?: StreamBody
  headers?: Record<string, string>
  /** What the answer is about, where erasing of that must reach an answer kept for retries too. */
  subjectRef?: string
}

export const respond = (
  status: number,
  value?: unknown,
  headers: Record<string, string> = {},
): OperationResult => (value === undefined ? { status, headers } : { status, json: toJson(value), headers })

export type Context = {
  readonly now: number
  /** For what outlasts the request. */
  readonly clock: Clock
  readonly principal: Principal
  /** The client's address. */
  readonly address: string
  header(name: string): string | undefined
}

export type WriteContext = Context & {
  /** The transaction of this request: what is done in it happens whole or not at all. */
  readonly trx: Kysely<Tables>
  /** Takes something out of the answers kept for retries that concern this. */
  eraseFromIdempotencyRecords(concern: string, erase: (json: string) => string): Promise<void>
  /** Runs once the transaction is on disk, also where the response has been sent before as a 503. */
  afterCommit(action: () => void): void
}

export type Input<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject> = {
  params: z.output<P>
  query: z.output<Q>
  body: z.output<B>
}

export type Stability = 'stable' | 'beta' | 'experimental'
export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
type ResponseDescription = {
  description: string
  schema?: z.ZodType
  /** Headers that this answer always has, and what they say. */
  headers?: Record<string, string>
  /** Headers that it has only sometimes. */
  optionalHeaders?: Record<string, string>
  example?: unknown
  /** Server-sent events, which the caller may ask for in place of JSON. */
  stream?: { description: string; example: string }
}

/** A message that the service sends to an address of the caller's: a webhook in OpenAPI. */
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

/** One operation: the single definition behind its route, its checks, its types and its OpenAPI entry. */
export type Operation<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodObject = z.ZodObject,
> = {
  id: string
  method: Method
  /** Relative to the base path, with `{name}` for parameters. */
  path: string
  tag: string
  summary: string
  description?: string
  stability?: Stability
  /** What the caller's key must have; none for what every key may do. */
  scope?: string
  /** Takes nothing from the caller's windows. */
  rateLimitExempt?: boolean
  deprecation?: Deprecation
  params?: P
  /** What a path parameter of the wrong form is: simply not there. */
  notFound?: ErrorCode
  query?: Q
  body?: B
  isBodyOptional?: boolean
  bodyExample?: unknown
  /** What each header says; its form too, where a header of another form is refused. */
  requestHeaders?: Record<string, string | RequestHeader>
  responses: Record<number, ResponseDescription>
  errors?: readonly ErrorCode[]
  /** Headers that an error has besides those of all, by its code, and what they say. */
  errorHeaders?: Partial<Record<ErrorCode, Record<string, string>>>
  /** What is sent later to an address that the caller registers with this operation. */
  sends?: MessageDescription
  /** The answer holds a secret that is shown once and kept nowhere in the clear. */
  hasSecretResponse?: boolean
  /** The answer follows from the store and the address alone, so it holds until the store changes. */
  cacheable?: boolean
  /** The response depends on one row alone, so it is cached until that row changes. */
  cachedRow?: { table: keyof Tables; id(params: Readonly<Record<string, string>>): number | undefined }
  read?(input: Input<P, Q, B>, context: Context): MaybePromise<OperationResult>
  write?(input: Input<P, Q, B>, context: WriteContext): Promise<OperationResult>
}

/** Lets TypeScript infer the handler's input from the schemas beside it. */
export const operation = <P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodObject>(
  definition: Operation<P, Q, B>,
): Operation => definition as unknown as Operation
