import type { BlockList } from 'node:net'
import type { Kysely } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { andThen, type Soon } from '../maybePromise.ts'
import { clientAddress } from './clientAddress.ts'
import { readBody } from './body.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import type { Admission, Door } from './authentication.ts'
import { ApiError, toApiError } from './errors.ts'
import { type Exchange, type Finished, givenRequestId, headersOf, isHome, newRequestId } from './requestContext.ts'
import { eraseFromKeptAnswers, type IdempotentAnswers, idempotencyKey } from './idempotency.ts'
import type { Incoming } from './request.ts'
import { type AnyInput, readInput } from './input.ts'
import { createLook, type KeptByRow } from './cachedRead.ts'
import { type Answer, answer, type Caller, type Method, type Operation } from './operation.ts'
import {
  notModified,
  type Outgoing,
  plainStationery,
  type Ready,
  Stationery,
  withoutStream,
} from './response.ts'
import { allowedMethods, RouteTable } from './router.ts'
import { SaidToCaller } from './callerHeaders.ts'

const basePath = '/v1'

type ApiOptions = {
  readonly operations: readonly Operation[]
  readonly door: Door
  readonly database: Database
  readonly idempotentAnswers: IdempotentAnswers
  readonly clock: Clock
  readonly trustedProxies: BlockList
  readonly publicUrl: string | undefined
  /** Nothing where nobody can tell which rows have changed. */
  readonly keptRows: KeptByRow | undefined
  onFinished(finished: Finished): void
}

export function createApi(options: ApiOptions) {
  const { door, database, idempotentAnswers, clock, publicUrl } = options
  const table = new RouteTable(options.operations)
  const look = createLook({ clock, keptRows: options.keptRows, currentVersion: () => database.version() })
  const stationeries = new Map(
    options.operations.map((operation) => [operation, new Stationery(headersOf(operation, publicUrl))]),
  )

  /** The pipeline: every request under the base path goes through these steps, in this order. */
  function serve(exchange: Exchange): Soon<Ready> {
    if (exchange.method === 'OPTIONS') return describeOptions(exchange)
    const admission = admit(exchange) // 401, 403 for the origin, 429
    return andThen(admission, () => work(exchange))
  }

  function work(exchange: Exchange): Soon<Ready> {
    const operation = chooseOperation(exchange) // 404, 405, 410
    const caller = authorize(exchange.incoming, exchange.caller, operation) // 403
    return operation.write ? change(exchange, operation, caller) : look(exchange, operation, caller) // 400 and on
  }

  function handle(incoming: Incoming): Soon<Outgoing> {
    const exchange = begin(incoming)
    let served: Soon<Ready>
    try {
      served =
        incoming.header('origin') === undefined
          ? serve(exchange)
          : allowOrigin(exchange).then(() => serve(exchange))
    } catch (thrown) {
      return refuse(exchange, thrown)
    }
    if (!(served instanceof Promise)) return finish(exchange, served)
    return served.then(
      (found) => finish(exchange, found),
      (thrown: unknown) => refuse(exchange, thrown),
    )
  }

  function refuse(exchange: Exchange, thrown: unknown): Outgoing {
    const error = toApiError(thrown)
    const fault = error.status >= 500 ? thrown : undefined
    const { status, body, headers } = error
    return finish(exchange, exchange.stationery.ready(answer(status, body, headers)), error.code, fault)
  }

  function finish(exchange: Exchange, found: Ready, code?: string, fault?: unknown): Outgoing {
    const { incoming, requestId, isOwnRequestId, method, path, operation, caller, address, more, startedAt } =
      exchange
    const result = notModified(
      method,
      incoming.header('if-none-match'),
      method === 'HEAD' && found.stream ? withoutStream(found) : found,
    )
    // Where nobody was admitted, the address's windows are the ones that apply.
    const said = new SaidToCaller(exchange.rates ?? door.ratesFor(address), requestId, more)
    const seconds = (performance.now() - startedAt) / 1000
    const { status, letterhead, body, stream, isAscii = false } = result
    options.onFinished({
      requestId,
      isOwnRequestId,
      method,
      path,
      operation,
      caller,
      address,
      status,
      code,
      seconds,
      fault,
    })
    return { status, letterhead, said, body, isAscii, stream }
  }

  function begin(incoming: Incoming): Exchange {
    const startedAt = performance.now()
    const { method, target } = incoming
    const givenId = givenRequestId(incoming.header('x-request-id'))
    const requestId = givenId ?? newRequestId()
    const end = target.indexOf('?')
    const path = end === -1 ? target : target.slice(0, end)
    const route = table.find(path.slice(basePath.length))
    const operation = route?.operations.get((method === 'HEAD' ? 'GET' : method) as Method)
    const forwarded = incoming.header('x-forwarded-for')
    const address = clientAddress(incoming.remoteAddress, forwarded, options.trustedProxies)
    return {
      incoming,
      startedAt,
      requestId,
      isOwnRequestId: givenId === undefined,
      method,
      path,
      route,
      operation,
      address,
      now: clock(),
      stationery: (operation && stationeries.get(operation)) ?? plainStationery,
      more: undefined,
      rates: undefined,
      caller: undefined,
      storeVersion: undefined,
    }
  }

  /** Until the key is known, an origin that any key is locked to may read what is answered, refusals included. */
  async function allowOrigin(exchange: Exchange) {
    const origin = exchange.incoming.header('origin')
    if (origin !== undefined && (await door.isKnownOrigin(origin))) exchange.more = corsHeaders(origin)
  }

  function describeOptions({ incoming, route, more }: Exchange): Ready {
    const isPreflight = more !== undefined && incoming.header('access-control-request-method') !== undefined
    // A preflight that failed would hide the 404 of the request itself from the page.
    if (!route && !isPreflight) throw new ApiError('not_found')
    return plainStationery.ready({
      status: 204,
      headers: { ...(route && { Allow: allowedMethods(route) }), ...(more && preflightHeaders) },
    })
  }

  function admit(exchange: Exchange): Soon<void> {
    const { incoming, address, operation } = exchange
    const authorization = incoming.header('authorization')
    const origin = incoming.header('origin')
    const admission = door.admit({ authorization, address, origin, isFree: operation?.isFree ?? false })
    return andThen(admission, (given) => enter(exchange, given))
  }

  function enter(exchange: Exchange, { caller, refusal, rates, storeVersion }: Admission): void {
    exchange.rates = rates
    exchange.caller = caller
    exchange.storeVersion = storeVersion
    // Until now it says which origin may read the answer, and nothing else.
    if (caller && exchange.more && !isHome(exchange.incoming, caller)) exchange.more = undefined
    if (refusal) throw refusal
  }

  function chooseOperation({ route, operation, now }: Exchange): Operation {
    if (!route) throw new ApiError('not_found')
    if (!operation)
      throw new ApiError('method_not_allowed', undefined, { headers: { Allow: allowedMethods(route) } })
    const { deprecation } = operation
    if (deprecation && now >= deprecation.sunsetMs)
      throw new ApiError('operation_removed', deprecation.message)
    return operation
  }

  function authorize(incoming: Incoming, caller: Caller | undefined, operation: Operation): Caller {
    if (!caller) throw new ApiError('missing_api_key')
    if (caller.origins.length > 0 && !isHome(incoming, caller)) throw new ApiError('origin_not_allowed')
    if (operation.scope !== undefined && !caller.scopes.has(operation.scope)) {
      throw new ApiError(
        'insufficient_scope',
        `This API key lacks the scope "${operation.scope}": ask the operator for it.`,
      )
    }
    return caller
  }

  async function change(exchange: Exchange, operation: Operation, admitted: Caller): Promise<Ready> {
    const { incoming, method, path, address, now } = exchange
    const admittedAt = performance.now()
    const bytes = await readBody(incoming)
    const current = await door.recall(admitted, performance.now() - admittedAt)
    if (!current) throw new ApiError('invalid_api_key', 'This API key ended while the request was coming in.')
    // The key can have become publishable, or lost a scope, while the body was coming in.
    const caller = current === admitted ? admitted : authorize(incoming, current, operation)
    const key = method === 'POST' ? idempotencyKey(incoming.header('idempotency-key')) : undefined
    let actions: (() => void)[] = []
    const run = (trx: Kysely<Tables>, input: AnyInput) => {
      // What failed together with others may be run again.
      actions = []
      return operation.write?.(input, {
        now,
        clock,
        caller,
        address,
        header: (name) => incoming.header(name),
        trx,
        eraseFromKeptAnswers: (concern, erase) => eraseFromKeptAnswers(trx, concern, erase),
        afterCommit: (action) => void actions.push(action),
      }) as Promise<Answer>
    }
    const onDurable = () => {
      for (const action of actions) action()
    }
    let result: Answer
    if (key === undefined) {
      // Bad input is refused before it costs a place in the queue of writes.
      const input = readInput(exchange, operation, bytes)
      result = await database.write((trx) => run(trx, input), onDurable)
    } else {
      const attempt = { key, caller, method, path, bytes, isSecret: operation.hasSecretAnswer ?? false, now }
      const once = (trx: Kysely<Tables>) => run(trx, readInput(exchange, operation, bytes))
      result = await idempotentAnswers.once(attempt, once, onDurable)
    }
    return exchange.stationery.ready(result)
  }

  return handle
}
