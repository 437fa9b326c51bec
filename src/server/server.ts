import type { ApiRequest } from '../api/request.ts'
import type { ApiResponse } from '../api/response.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { Caller, Lane } from './lanes.ts'

export type RunningServer = {
  readonly port: number
  /** Responds to what has arrived, then closes every connection; after a deadline, by force. */
  stop(): Promise<void>
}

export type Handlers = {
  /** Serves every request, also one that is not valid HTTP. Fails only if even an error response is impossible. */
  handle(request: ApiRequest): MaybePromise<ApiResponse>
  laneOf?(request: ApiRequest): Lane
  callerOf?(request: ApiRequest): Caller
  /** How many requests of a lane can be in progress at the same time. */
  inProgressMax?(lane: Lane): number
  onConnectionClosed?(reason: ConnectionCloseReason, address: string): void
}

/**
 * Why a connection was closed to stay within a bound: per address, in total, to make space for a new one, or because too many
 * of its pipelined requests waited.
 */
export const connectionCloseReasons = [
  'address_limit',
  'connection_limit',
  'unfinished',
  'idle',
  'pipelined',
] as const
export type ConnectionCloseReason = (typeof connectionCloseReasons)[number]

export type ListenAddress = { readonly host: string; readonly port: number }

/** When requests are rejected because they have waited, or would wait, for too long: see docs/decisions/0060-load-shedding.md. */
export const defaultLoadBounds = { waitMaxMs: 200, burstMaxMs: 1_000 }

export const defaultListenBounds = {
  ...defaultLoadBounds,
  /** How long a client may take to send the headers of a request. */
  headersMs: 5_000,
  /** How long a connection may be idle. */
  idleMs: 65_000,
  connectionsMax: 10_000,
  /** The connections of one address group. */
  connectionsPerAddressMax: 10_000,
  /** The group that the connections of an address are counted in; undefined if they are not counted. */
  addressGroup: (remoteAddress: string): string | undefined => remoteAddress,
  /** How long a new connection may take to complete a request before it counts as unfinished. */
  unfinishedMs: 1_000,
}

export type ListenBounds = Partial<Readonly<typeof defaultListenBounds>> & {
  /** How long a client may take no bytes of a response. */
  readonly stalledMs: number
}
