import { actorText } from '../actor.ts'
import type { Clock } from '../clock.ts'
import { Batcher } from '../database/batcher.ts'
import type { Database } from '../database/database.ts'
import type { Db } from '../database/db.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { type Authenticator, type AuthorizedRequest, authorize } from './authentication.ts'
import { ApiError, apiErrors } from './errors.ts'
import {
  eraseFromIdempotencyRecords,
  type IdempotencyRecords,
  parseIdempotencyKey,
  type RecordedWrite,
} from './idempotency.ts'
import { type AnyInput, type BodyBounds, createBodyReceiver, prefersReplica, readInput } from './input.ts'
import type {
  BatchedRequest,
  Context,
  Operation,
  OperationResult,
  Principal,
  WriteContext,
} from './operation.ts'
import { type PreparedResponse, prepareResponse, rowResponse } from './response.ts'
import { PageCache, RowCache } from './responseCache.ts'
import { basePath } from './router.ts'

export type ExecuteOptions = BodyBounds & {
  readonly operations: readonly Operation[]
  readonly database: Database
  readonly authenticator: Authenticator
  readonly idempotencyRecords: IdempotencyRecords
  readonly clock: Clock
  readonly publicUrl: string | undefined
  /** Removes secrets from a text. */
  redact(text: string): string
}

const pageBytesMax = 16 * 1024 * 1024
const dayMs = 24 * 60 * 60 * 1000
const replicaHeaders = { 'Preference-Applied': 'read-replica' }

/** Reads the input and runs the handler of an operation. */
export class Executor {
  readonly #options: ExecuteOptions
  readonly #receiveBody: ReturnType<typeof createBodyReceiver>
  readonly #pages = new PageCache(pageBytesMax)
  readonly #batchers = new Map<Operation, Batcher<BatchedRequest<AnyInput>, OperationResult | undefined>>()
  readonly #rowCaches = new Map<Operation, { rows: RowCache; epoch: () => number }>()

  constructor(options: ExecuteOptions) {
    this.#options = options
    this.#receiveBody = createBodyReceiver(options)
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
    if (call.operation.write) return this.#receiveAndWrite(call)
    const cache = this.#rowCaches.get(call.operation)
    return cache ? this.#readRow(call, cache.rows, cache.epoch()) : this.#readPage(call)
  }

  #contextOf({ request, now, address, principal, path }: AuthorizedRequest): Context {
    const { clock, publicUrl = '' } = this.#options
    const header: Context['header'] = (name) => request.header(name)
    const isDisconnected = () => request.isDisconnected ?? false
    return { now, clock, principal, address, path, publicUrl, header, isDisconnected }
  }

  #read(call: AuthorizedRequest, db: Db = this.#options.database.read): MaybePromise<OperationResult> {
    const { request, operation, params } = call
    if (!operation.read) throw new Error(`${operation.id} has no handler.`)
    return operation.read(readInput(request, operation, params), { ...this.#contextOf(call), db })
  }

  #readPage(call: AuthorizedRequest): MaybePromise<PreparedResponse> {
    const { request, operation, common, databaseVersion } = call
    // Taken before the read: the data is never older than this version.
    const version = operation.cacheable ? (databaseVersion ?? this.#options.database.version()) : undefined
    const day = operation.cacheable === 'today' ? `${Math.floor(call.now / dayMs)} ` : ''
    const cacheKey = day + request.target
    const cached = version === undefined ? undefined : this.#pages.get(version, cacheKey)
    if (cached) return cached
    const readPrimary = () =>
      chain(this.#read(call), (result) => {
        const response = prepareResponse(result, common)
        if (version !== undefined && !result.isUncacheable) this.#pages.set(version, cacheKey, response)
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

  #receiveAndWrite(call: AuthorizedRequest): Promise<PreparedResponse> {
    const { request, principal, operation } = call
    const authenticatedAt = performance.now()
    const isComplete = request.isComplete ?? false
    return this.#receiveBody(request, principal, operation, async (bytes) => {
      if (!isComplete) call.principal = await this.#reauthorize(call, performance.now() - authenticatedAt)
      return prepareResponse(await this.#write(call, bytes), call.common)
    })
  }

  async #write(call: AuthorizedRequest, bytes: Uint8Array): Promise<OperationResult> {
    const { request, operation, principal, path, now } = call
    const { operations } = this.#options
    const { valid, error } = validated(() => readInput(request, operation, call.params, bytes, operations))
    const key = request.method === 'POST' ? parseIdempotencyKey(request.header('idempotency-key')) : undefined
    // Invalid input is rejected before it enters the write queue.
    if (key === undefined && !valid) throw error
    // Invalid input may be a repeated request. Otherwise the transaction stores its error.
    const write = valid ? this.#createWrite(call, valid) : { run: () => Promise.reject(error) }
    if (key !== undefined) {
      const { method } = request
      const isSecret = operation.hasSecretResponse ?? false
      return this.#options.idempotencyRecords.once(
        { key, principal, method, path, bytes, isSecret, now },
        write,
      )
    }
    const batched = await write.runBatched?.(undefined)
    if (batched) return batched
    await write.prepare?.()
    return this.#options.database.write(write.run, write.options)
  }

  #createWrite(call: AuthorizedRequest, input: AnyInput): RecordedWrite {
    const { operation, now } = call
    const { database, redact } = this.#options
    const context = this.#contextOf(call)
    const readContext = { ...context, db: database.read }
    const batcher = this.#batchers.get(operation)
    let prepared: Promise<unknown> | undefined
    let actions: (() => void)[] = []
    return {
      prepare:
        operation.prepare &&
        (() => {
          prepared = Promise.try(() => operation.prepare?.(input, readContext))
          return prepared
        }),
      run: async (trx) => {
        // A failed transaction may be run again.
        actions = []
        trx.actor = actorText(call.principal)
        const writeContext: WriteContext = {
          ...context,
          requestId: call.isRequestIdGenerated ? call.requestId : redact(call.requestId),
          trx,
          eraseFromIdempotencyRecords: (subject, erase) => eraseFromIdempotencyRecords(trx, subject, erase),
          afterCommit: (action) => void actions.push(action),
        }
        const result = await operation.write?.(input, writeContext, await prepared)
        return this.#located(operation, input, result as OperationResult)
      },
      options: {
        onDurable() {
          for (const action of actions) action()
        },
        subject: operation.subject?.(input),
        precheck: operation.precheck && {
          name: operation.id,
          run: async () => operation.precheck?.(input, readContext),
        },
      },
      runBatched:
        batcher &&
        (async (record) => {
          const result = await batcher.add({ input, now, keyId: call.principal.keyId, record })
          return result && this.#located(operation, input, result)
        }),
    }
  }

  /** Adds the `Location` of what was created. */
  #located(operation: Operation, input: AnyInput, result: OperationResult): OperationResult {
    if (!operation.location || result.status !== 201) return result
    const path = basePath + operation.location(result.value as { id: unknown }, input)
    const Location = `${this.#options.publicUrl ?? ''}${path}`
    return { ...result, headers: { Location, ...result.headers } }
  }

  /** The key may have been revoked, or have lost a scope, while the body arrived. */
  async #reauthorize({ origin, operation, principal }: AuthorizedRequest, agoMs: number): Promise<Principal> {
    const current = await this.#options.authenticator.reauthenticate(principal, agoMs)
    if (!current)
      throw new ApiError(
        apiErrors.invalid_api_key,
        'This API key was revoked or expired while the request arrived.',
      )
    return current === principal ? principal : authorize(origin, current, operation)
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
