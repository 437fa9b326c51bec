import type { Clock } from '../clock.ts'
import { Batcher } from '../database/batcher.ts'
import type { Database, WriteOptions } from '../database/database.ts'
import type { Db, Trx } from '../database/db.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { type Authenticator, type AuthorizedRequest, authorize } from './authentication.ts'
import { ApiError, apiErrors } from './errors.ts'
import { eraseFromIdempotencyRecords, type IdempotencyRecords, parseIdempotencyKey } from './idempotency.ts'
import { type AnyInput, prefersReplica, readBody, readInput } from './input.ts'
import type {
  BatchedRequest,
  Context,
  Operation,
  OperationResult,
  Principal,
  RecordKey,
} from './operation.ts'
import { type PreparedResponse, prepareResponse, rowResponse } from './response.ts'
import { PageCache, RowCache } from './responseCache.ts'

export type ExecuteOptions = {
  readonly operations: readonly Operation[]
  readonly database: Database
  readonly authenticator: Authenticator
  readonly idempotencyRecords: IdempotencyRecords
  readonly clock: Clock
  /** Removes secrets from a text. */
  redact(text: string): string
}

const replicaHeaders = { 'Preference-Applied': 'read-replica' }

/** Reads the input and runs the handler of an operation. */
export class Executor {
  readonly #options: ExecuteOptions
  readonly #pages = new PageCache()
  readonly #batchers = new Map<Operation, Batcher<BatchedRequest<AnyInput>, OperationResult | undefined>>()
  readonly #rowCaches = new Map<Operation, { rows: RowCache; epoch: () => number }>()

  constructor(options: ExecuteOptions) {
    this.#options = options
    for (const operation of options.operations) {
      const { writeBatch } = operation
      if (writeBatch) this.#batchers.set(operation, new Batcher((requests) => writeBatch(requests)))
      if (!operation.cachedRow) continue
      const rows = new RowCache()
      const epoch = options.database.watchRows(operation.cachedRow.dependsOn, (id) => rows.delete(id))
      if (epoch) this.#rowCaches.set(operation, { rows, epoch })
    }
  }

  /** Requests that wait for a batch. */
  get waiting(): number {
    return this.#batchers.values().reduce((sum, batcher) => sum + batcher.waiting, 0)
  }

  /** Synchronous if the response is cached. */
  execute(call: AuthorizedRequest): MaybePromise<PreparedResponse> {
    if (call.operation.write) return this.#write(call)
    const cache = this.#rowCaches.get(call.operation)
    return cache ? this.#readRow(call, cache.rows, cache.epoch()) : this.#readPage(call)
  }

  #contextOf({ request, now, address }: AuthorizedRequest, principal: Principal): Context {
    const { clock } = this.#options
    return { now, clock, principal, address, header: (name) => request.header(name) }
  }

  #read(call: AuthorizedRequest, db: Db = this.#options.database.read): MaybePromise<OperationResult> {
    const { request, operation, params, principal } = call
    if (!operation.read) throw new Error(`${operation.id} has no handler.`)
    return operation.read(readInput(request, operation, params), { ...this.#contextOf(call, principal), db })
  }

  #readPage(call: AuthorizedRequest): MaybePromise<PreparedResponse> {
    const { request, operation, common, databaseVersion } = call
    // Taken before the read: the data is never older than this version.
    const version = operation.cacheable ? (databaseVersion ?? this.#options.database.version()) : undefined
    const cached = version === undefined ? undefined : this.#pages.get(version, request.target)
    if (cached) return cached
    const readPrimary = () =>
      chain(this.#read(call), (result) => {
        const response = prepareResponse(result, common)
        if (version !== undefined) this.#pages.set(version, request.target, response)
        return response
      })
    const isReplicaAccepted = operation.allowsReplica && prefersReplica(request)
    const replica = isReplicaAccepted ? this.#options.database.replica?.usable() : undefined
    return replica ? this.#readReplica(call, replica).catch(readPrimary) : readPrimary()
  }

  /** Rejects also if the replica does not have the row: it may be a new one. The response is never cached. */
  async #readReplica(call: AuthorizedRequest, replica: Db): Promise<PreparedResponse> {
    return prepareResponse(await this.#read(call, replica), { ...call.common, ...replicaHeaders })
  }

  #readRow(call: AuthorizedRequest, rows: RowCache, epoch: number): MaybePromise<PreparedResponse> {
    const { operation, common, params } = call
    const id = operation.cachedRow?.id(params)
    const cached = id === undefined ? undefined : rows.get(epoch, id)
    if (cached) return rowResponse(cached, common)
    const result = this.#read(call)
    // Not cached if it had to wait: the row may have changed by then.
    if (!(result instanceof Promise) && id !== undefined) {
      const { json, headers = {} } = result
      const isComplete = json !== undefined && Object.keys(headers).length === 1
      if (isComplete && headers.ETag !== undefined) rows.set(id, { etag: headers.ETag, json })
    }
    return chain(result, (found) => prepareResponse(found, common))
  }

  async #write(call: AuthorizedRequest): Promise<PreparedResponse> {
    const { request, operation, common, path, now } = call
    const authenticatedAt = performance.now()
    const isComplete = request.isComplete ?? false
    const bytes = await readBody(request)
    const principal = isComplete
      ? call.principal
      : await this.#reauthorize(call, performance.now() - authenticatedAt)
    let actions: (() => void)[] = []
    const run = (trx: Trx, input: AnyInput) => {
      // A failed transaction may be run again.
      actions = []
      return operation.write?.(input, {
        ...this.#contextOf(call, principal),
        requestId: call.isRequestIdGenerated ? call.requestId : this.#options.redact(call.requestId),
        trx,
        eraseFromIdempotencyRecords: (subject, erase) => eraseFromIdempotencyRecords(trx, subject, erase),
        afterCommit: (action) => void actions.push(action),
      }) as Promise<OperationResult>
    }
    const onDurable = () => {
      for (const action of actions) action()
    }
    const input = () => readInput(request, operation, call.params, bytes)
    const optionsFor = (valid: AnyInput): WriteOptions => ({
      onDurable,
      subject: operation.subject?.(valid),
      precheck: operation.precheck && {
        name: operation.id,
        run: async () =>
          operation.precheck?.(valid, {
            ...this.#contextOf(call, principal),
            db: this.#options.database.read,
          }),
      },
    })
    const key = request.method === 'POST' ? parseIdempotencyKey(request.header('idempotency-key')) : undefined
    if (key === undefined) {
      // Invalid input is rejected before it enters the write queue.
      const valid = input()
      const batched = await this.#batchers.get(operation)?.add({ input: valid, now, record: undefined })
      const result =
        batched ?? (await this.#options.database.write((trx) => run(trx, valid), optionsFor(valid)))
      return prepareResponse(result, common)
    }
    const attempt = {
      key,
      principal,
      method: request.method,
      path,
      bytes,
      isSecret: operation.hasSecretResponse ?? false,
      now,
    }
    // Invalid input may be a repeated request. Otherwise the transaction stores its error.
    const { valid, error } = validated(input)
    const options = valid ? optionsFor(valid) : { onDurable }
    const batcher = valid && this.#batchers.get(operation)
    const runBatched = batcher && ((record: RecordKey) => batcher.add({ input: valid, now, record }))
    const runOnce = (trx: Trx) => (valid ? run(trx, valid) : Promise.reject(error))
    return prepareResponse(
      await this.#options.idempotencyRecords.once(attempt, runOnce, options, runBatched),
      common,
    )
  }

  /** The key may have been revoked, or have lost a scope, while the body arrived. */
  async #reauthorize(
    { request, operation, principal }: AuthorizedRequest,
    agoMs: number,
  ): Promise<Principal> {
    const current = await this.#options.authenticator.reauthenticate(principal, agoMs)
    if (!current)
      throw new ApiError(
        apiErrors.invalid_api_key,
        'This API key was revoked or expired while the request arrived.',
      )
    return current === principal ? principal : authorize(request, current, operation)
  }
}

/** The input, or why it is not valid. */
function validated(input: () => AnyInput): { valid?: AnyInput; error?: unknown } {
  try {
    return { valid: input() }
  } catch (error) {
    return { error }
  }
}
