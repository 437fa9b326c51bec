import type { Database } from '../database/database.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { PreparedResponse } from './response.ts'
import { PageCache } from './responseCache.ts'

const webPageBytesMax = 32 * 1024 * 1024

/** Responses of pages outside the API. A change of the database drops all of them. */
export class WebPageCache {
  readonly #database: Database
  readonly #responses = new PageCache(webPageBytesMax)
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
    return chain(render(), (response) => {
      this.#responses.set(version, key, response)
      return response
    })
  }
}
