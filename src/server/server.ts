import type { BlockList } from 'node:net'
import type { RequestLog } from '../api/requestContext.ts'
import type { Api } from '../pages/app.ts'

export type RunningServer = {
  readonly port: number
  /** Answers what has come in, then closes every connection; after the deadline, by force. */
  stop(): Promise<void>
}

export type Handlers = {
  /** Answers anything, as the Fetch standard has it. */
  fetch(request: Request, remoteAddress: string): Response | Promise<Response>
  /** Answers the API and the probes, without the cost of making a Request and a Response. */
  direct: Api
  /** Told of what is refused before it reaches the pipeline, such as bytes that are not HTTP. */
  onFinished?(finished: RequestLog): void
  onConnectionClosed?(reason: ConnectionCloseReason, address: string): void
}

/** Why a connection was closed to stay within a bound: of one address, of all, or to make room for a new one. */
export type ConnectionCloseReason = 'address_limit' | 'connection_limit' | 'unfinished' | 'idle'

export type ListenAddress = { readonly host: string; readonly port: number }

export type ListenBounds = {
  /** How long a caller may take nothing of an answer. */
  readonly stalledMs: number
  /** How long a connection may be idle. */
  readonly idleMs?: number
  readonly connectionsMax?: number
  /** Of one address, or one IPv6 /64; those of trusted proxies are not counted. */
  readonly connectionsPerAddressMax?: number
  readonly trustedProxies?: BlockList
  /** How long a new connection may take to complete a request before it makes room for others. */
  readonly unfinishedMs?: number
}
