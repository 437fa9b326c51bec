import type { Api } from './app.ts'

export type Listener = {
  readonly port: number
  /** Answers what has come in, then closes every connection; after the deadline, by force. */
  stop(): Promise<void>
}

export type Handlers = {
  /** Answers anything, as the Fetch standard has it. */
  fetch(request: Request, remoteAddress: string): Response | Promise<Response>
  /** Answers the API and the probes, without the cost of making a Request and a Response. */
  direct: Api
}

export type Place = { readonly host: string; readonly port: number }

export type ListenBounds = {
  /** How long a caller may take nothing of an answer. */
  readonly stalledMs: number
  /** How long a connection may be idle. */
  readonly idleMs?: number
  readonly connectionsMax?: number
}
