import type { Clock } from '../clock.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import { type AnyInput, readInput } from './input.ts'
import type { Context, Operation, OperationResult, Principal } from './operation.ts'
import { contextOf, type RequestContext } from './requestContext.ts'
import type { PreparedResponse } from './response.ts'
import { PageCache, type RowCache } from './responseCache.ts'

/** Answers about one row, and what tells whether another process may have changed any. */
export type RowCacheOptions = { readonly rows: RowCache; epoch(): number }

type LookOptions = {
  readonly clock: Clock
  readonly keptRows: RowCacheOptions | undefined
  /** Which state the store is in, where that can be told without asking it. */
  currentVersion(): number | undefined
}

/** The answers of operations that only read: a kept one where it still holds, and else a new one. */
export function createCachedRead({ clock, keptRows, currentVersion }: LookOptions) {
  const keptPages = new PageCache()

  function cachedRead(
    exchange: RequestContext,
    operation: Operation,
    caller: Principal,
  ): MaybePromise<PreparedResponse> {
    if (operation.cacheKey && keptRows) return readCachedRow(exchange, operation, caller, keptRows)
    const { request: incoming, template: stationery } = exchange
    // Asked before anything is read: what is read from now on is not older.
    const version = operation.cacheable ? (exchange.storeVersion ?? currentVersion()) : undefined
    const kept = version === undefined ? undefined : keptPages.find(version, incoming.target)
    if (kept) return kept
    const prepare = (found: OperationResult) => {
      const prepared = stationery.prepare(found)
      if (version !== undefined) keptPages.keep(version, incoming.target, prepared)
      return prepared
    }
    return chain(read(operation, readInput(exchange, operation), contextOf(exchange, caller, clock)), prepare)
  }

  function readCachedRow(
    exchange: RequestContext,
    operation: Operation,
    caller: Principal,
    { rows, epoch }: RowCacheOptions,
  ): MaybePromise<PreparedResponse> {
    const { template: stationery, route } = exchange
    const id = route && operation.cacheKey?.(route.params)
    const kept = id === undefined ? undefined : rows.find(epoch(), id)
    if (kept) return stationery.fromCache(kept)
    const found = read(operation, readInput(exchange, operation), contextOf(exchange, caller, clock))
    // What had to be waited for may be untrue by now.
    if (found instanceof Promise) return found.then((late) => stationery.prepare(late))
    const { json, headers } = found
    if (id !== undefined && json !== undefined && headers?.ETag !== undefined)
      rows.keep(id, { etag: headers.ETag, json })
    return stationery.prepare(found)
  }

  return cachedRead
}

function read(operation: Operation, input: AnyInput, context: Context): MaybePromise<OperationResult> {
  if (!operation.read) throw new Error(`${operation.id} neither reads nor writes.`)
  return operation.read(input, context)
}
