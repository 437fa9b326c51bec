import type { Database } from '../database/database.ts'
import type { MaybePromise } from '../maybePromise.ts'
import type { PreparedResponse } from './response.ts'
import { PageCache } from './responseCache.ts'

const webPageBytesMax = 32 * 1024 * 1024

/** Responses of pages outside the API. A change of the database drops all of them. */
export class WebPageCache {
  readonly #database: Database
  readonly #responses = new PageCache(webPageBytesMax)
  /** Many requests for the same page after a change cause one. As many as requests are in progress. */
  readonly #running = new Map<string, Promise<PreparedResponse>>()
  #changes = 0

  constructor(database: Database) {
    this.#database = database
    const drop = () => {
      this.#changes++
    }
    database.onCommit(drop)
    // On PostgreSQL, a change of another instance is known only after the next poll.
    database.onExternalChange(drop)
  }

  serve(key: string, render: () => MaybePromise<PreparedResponse>): MaybePromise<PreparedResponse> {
    const version = this.#database.version() ?? this.#changes
    const cached = this.#responses.get(version, key)
    if (cached) return cached
    const run = `${version} ${key}`
    const rendered = this.#running.get(run) ?? render()
    if (!(rendered instanceof Promise)) return this.#keep(version, key, rendered)
    if (!this.#running.has(run)) {
      const forget = () => this.#running.delete(run)
      this.#running.set(run, rendered)
      rendered.then(forget, forget)
    }
    return rendered.then((response) => this.#keep(version, key, response))
  }

  #keep(version: number, key: string, response: PreparedResponse): PreparedResponse {
    // Not those of addresses that anyone can make up.
    if (response.status === 200) this.#responses.set(version, key, response)
    return response
  }
}
