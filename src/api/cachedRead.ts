import type { Clock } from '../clock.ts'
import { andThen, type Soon } from '../maybePromise.ts'
import { contextOf, type Exchange } from './requestContext.ts'
import { type AnyInput, readInput } from './input.ts'
import { KeptPages, type KeptRows } from './responseCache.ts'
import type { Answer, Caller, Context, Operation } from './operation.ts'
import type { Ready } from './response.ts'

/** Answers about one row, and what tells whether another process may have changed any. */
export type KeptByRow = { readonly rows: KeptRows; epoch(): number }

type LookOptions = {
  readonly clock: Clock
  readonly keptRows: KeptByRow | undefined
  /** Which state the store is in, where that can be told without asking it. */
  currentVersion(): number | undefined
}

/** The answers of operations that only read: a kept one where it still holds, and else a new one. */
export function createLook({ clock, keptRows, currentVersion }: LookOptions) {
  const keptPages = new KeptPages()

  function look(exchange: Exchange, operation: Operation, caller: Caller): Soon<Ready> {
    if (operation.keptAs && keptRows) return lookAtRow(exchange, operation, caller, keptRows)
    const { incoming, stationery } = exchange
    // Asked before anything is read: what is read from now on is not older.
    const version = operation.isKept ? (exchange.storeVersion ?? currentVersion()) : undefined
    const kept = version === undefined ? undefined : keptPages.find(version, incoming.target)
    if (kept) return kept
    const prepare = (found: Answer) => {
      const prepared = stationery.ready(found)
      if (version !== undefined) keptPages.keep(version, incoming.target, prepared)
      return prepared
    }
    return andThen(
      read(operation, readInput(exchange, operation), contextOf(exchange, caller, clock)),
      prepare,
    )
  }

  function lookAtRow(
    exchange: Exchange,
    operation: Operation,
    caller: Caller,
    { rows, epoch }: KeptByRow,
  ): Soon<Ready> {
    const { stationery, route } = exchange
    const id = route && operation.keptAs?.(route.params)
    const kept = id === undefined ? undefined : rows.find(epoch(), id)
    if (kept) return stationery.readyAgain(kept)
    const found = read(operation, readInput(exchange, operation), contextOf(exchange, caller, clock))
    // What had to be waited for may be untrue by now.
    if (found instanceof Promise) return found.then((late) => stationery.ready(late))
    const { json, headers } = found
    if (id !== undefined && json !== undefined && headers?.ETag !== undefined)
      rows.keep(id, { etag: headers.ETag, json })
    return stationery.ready(found)
  }

  return look
}

function read(operation: Operation, input: AnyInput, context: Context): Soon<Answer> {
  if (!operation.read) throw new Error(`${operation.id} neither reads nor writes.`)
  return operation.read(input, context)
}
