import type { Database } from '../database/database.ts'
import { chain, type MaybePromise } from '../maybePromise.ts'
import type { RequestState } from './authentication.ts'
import { preflightHeaders } from './cors.ts'
import { type ApiError, protocolError } from './errors.ts'
import { prefersType } from './request.ts'
import { type PreparedResponse, prepareResponse } from './response.ts'
import { WebPageCache } from './responseCache.ts'
import {
  allowedMethods,
  methodNotAllowed,
  type PageAllowance,
  type PageContext,
  pageNotFound,
  type WebPage,
} from './router.ts'

export type PageRunnerOptions = {
  readonly database: Database
  /** What browsers get in place of the JSON of a 404. */
  readonly notFoundPage?: WebPage
  /** Takes one request from the page allowance of the address; returns the error if none is left. */
  admitToPages(address: string, allowance: PageAllowance | undefined): ApiError | undefined
}

/** Made once: rejecting a request must take much less time than serving it. */
const overload = protocolError('overloaded')

/** Serves web pages, outside the API. */
export class PageRunner {
  readonly #options: PageRunnerOptions
  readonly #cache: WebPageCache
  readonly #cached: PageContext['cached'] = (name, compute) => this.#cache.value(name, compute)

  constructor(options: PageRunnerOptions) {
    this.#options = options
    this.#cache = new WebPageCache(options.database)
  }

  run(state: RequestState): MaybePromise<PreparedResponse> {
    const { request, route, page, address } = state
    const { method } = request
    const isRead = method === 'GET' || method === 'HEAD'
    // Not limited: it costs little, and a browser could not read a 429 whose preflight has failed.
    const isPreflight = page?.isPublic && method === 'OPTIONS'
    if (request.problem && !isPreflight) throw overload
    const { admitToPages } = this.#options
    const isExempt = isPreflight || (page?.isExempt && isRead)
    const exceeded = isExempt ? undefined : admitToPages(address, page?.allowance?.(request))
    if (exceeded) throw exceeded
    if (!route || !page) throw pageNotFound()
    const context = this.#contextOf(state)
    if (!isRead)
      return chain(page.requireExistence?.(context), () => {
        if (!isPreflight) throw methodNotAllowed(route)
        const headers = { ...preflightHeaders, Allow: allowedMethods(route) }
        return prepareResponse({ status: 204, headers })
      })
    const key = page.cacheKey?.(request, context)
    const serve = () => page.serve(request, context)
    return key === undefined ? serve() : this.#cache.serve(`${page.path} ${key}`, serve)
  }

  /** The page for people who get this error. Undefined if the response is JSON. */
  async renderError(state: RequestState, error: ApiError): Promise<PreparedResponse | undefined> {
    const { request, page } = state
    const rendered = page?.renderError?.(error)
    if (rendered || error.status !== 404) return rendered
    const isForPeople = prefersType(request.header('accept'), 'text/html', 'application/json')
    return isForPeople ? this.#options.notFoundPage?.serve(request, this.#contextOf(state)) : undefined
  }

  #contextOf({ address, params, now }: RequestState): PageContext {
    return { address, params, now, db: this.#options.database.unknownCallerDb, cached: this.#cached }
  }
}
