import { createWriteStream, mkdtempSync, rmSync, type WriteStream, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import type { Client, ClientResponse } from '../../test/support/client.ts'
import type { Call, Response } from './history.ts'

export type Sent = Pick<Call, 'method' | 'path'> & Partial<Pick<Call, 'body' | 'ifMatch' | 'idempotencyKey'>>

/** Shorter than the longest pause of an instance: some requests take effect after their caller has given up. */
const callMaxMs = 3_000
/** What a 503 says if the change may have been applied. */
const unknownOutcome = /Check whether the change was applied/

/** Sends requests, and records them in memory and in a file with one JSON object per line. */
export class Recorder {
  readonly calls: Call[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'petstore-history-'))
  readonly #file: WriteStream
  readonly #key: string
  readonly #openedAt = performance.now()
  #number = 0

  constructor(key: string) {
    this.#key = key
    this.#file = createWriteStream(join(this.#folder, 'history.ndjson'))
  }

  /** Notes what happened to the service. */
  note(fault: string): void {
    this.#file.write(`${JSON.stringify({ at: this.#now(), fault })}\n`)
  }

  async send(
    instance: Pick<Client, 'request'>,
    caller: string,
    sent: Sent,
  ): Promise<Call & { next?: string }> {
    const number = ++this.#number
    const startedAt = this.#now()
    const { next, ...outcome } = await this.#request(instance, sent)
    const call: Call = { number, caller, ...sent, startedAt, endedAt: this.#now(), ...outcome }
    this.calls.push(call)
    this.#file.write(`${JSON.stringify(call)}\n`)
    return { ...call, ...(next !== undefined && { next }) }
  }

  /** Keeps the history with the log of the instances and returns its file, or removes it if there is no log. */
  async close(log: string | undefined): Promise<string | undefined> {
    this.#file.end()
    await finished(this.#file)
    if (log === undefined) rmSync(this.#folder, { recursive: true, force: true })
    else writeFileSync(join(this.#folder, 'instances.log'), log)
    return log === undefined ? undefined : String(this.#file.path)
  }

  #now = () => performance.now() - this.#openedAt

  async #request({ request }: Pick<Client, 'request'>, sent: Sent): Promise<Received> {
    const { method, path, body, ifMatch, idempotencyKey } = sent
    const headers = {
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    }
    const signal = AbortSignal.timeout(callMaxMs)
    try {
      return outcomeOf(
        await request(method, path, { key: this.#key, headers, signal, ...(body && { body }) }),
      )
    } catch (error) {
      // Without a connection nothing was sent.
      const isNotSent = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      return { outcome: isNotSent ? 'failed' : 'unknown' }
    }
  }
}

type Received = Pick<Call, 'outcome' | 'response'> & { next?: string }

function outcomeOf({ status, headers, json }: ClientResponse): Received {
  const response: Response = {
    status,
    ...(headers.etag !== undefined && { etag: headers.etag }),
    ...(headers['idempotent-replayed'] === 'true' && { isReplayed: true }),
    ...(json !== undefined && { body: json }),
  }
  const next = /<([^>]+)>; rel="next"/.exec(String(headers.link ?? ''))?.[1]
  const more = { response, ...(next !== undefined && { next }) }
  if (status === 503) return { outcome: unknownOutcome.test(json?.message) ? 'unknown' : 'failed', ...more }
  // Another server error is a violation by itself. Whether it had an effect is unknown.
  if (status >= 500) return { outcome: 'unknown', ...more }
  return { outcome: json?.code === 'idempotency_in_progress' ? 'failed' : 'known', ...more }
}
