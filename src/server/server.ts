import type { ApiRequest } from '../api/request.ts'
import type { ApiResponse } from '../api/response.ts'
import type { MaybePromise } from '../maybePromise.ts'

export type RunningServer = {
  readonly port: number
  /** Responds to what has arrived, then closes every connection; after a deadline, by force. */
  stop(): Promise<void>
}

export type Handlers = {
  /** Serves every request, also one that is not valid HTTP. Fails only if even an error response is impossible. */
  handle(request: ApiRequest): MaybePromise<ApiResponse>
  onConnectionClosed?(reason: ConnectionCloseReason, address: string): void
}

/** Why a connection was closed to stay within a bound: per address, in total, or to make space for a new one. */
export type ConnectionCloseReason = 'address_limit' | 'connection_limit' | 'unfinished' | 'idle'

export type ListenAddress = { readonly host: string; readonly port: number }

export type ListenBounds = {
  /** How long a client may take no bytes of a response. */
  readonly stalledMs: number
  /** How long a client may take to send the headers of a request. */
  readonly headersMs?: number
  /** How long a connection may be idle. */
  readonly idleMs?: number
  readonly connectionsMax?: number
  /** Of one address group. */
  readonly connectionsPerAddressMax?: number
  /** The group that the connections of an address are counted in; undefined if they are not counted. */
  readonly addressGroup?: (remoteAddress: string) => string | undefined
  /** How long a new connection may take to complete a request before it counts as unfinished. */
  readonly unfinishedMs?: number
}
