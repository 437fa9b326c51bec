import findMyWay from 'find-my-way'
import type { MaybePromise } from '../maybePromise.ts'
import { ApiError, apiErrors } from './errors.ts'
import type { Method, Operation, ReadContext } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { PreparedResponse } from './response.ts'

export const basePath = '/v1'

/** A resource outside the API: an HTML page, a document or a probe. It takes GET and HEAD. */
export type WebPage = {
  /** With `{name}` for parameters. One that ends with `*` stands for every path below it that has no page of its own. */
  readonly path: string
  /** Its name in the metrics and the log. Without one, only its failures are counted and logged. */
  readonly id?: string
  /** GET and HEAD take nothing from the allowance of the client's address. */
  readonly isExempt?: boolean
  /** Requires a key. Requests that are rejected are logged and counted, as in the API. */
  readonly requiresKey?: boolean
  /** Any browser origin may read it. */
  readonly isPublic?: boolean
  /** What a request is counted for, in place of the allowance that all other pages share. */
  allowance?(request: ApiRequest): PageAllowance
  /** The response is cached under this key until the database changes. Undefined if it must not be cached. */
  cacheKey?(request: ApiRequest, context: Pick<PageContext, 'params' | 'now'>): string | undefined
  /** Throws an error while the page does not exist. Called for methods other than GET and HEAD. */
  requireExistence?(context: PageContext): MaybePromise<unknown>
  serve(request: ApiRequest, context: PageContext): MaybePromise<PreparedResponse>
  /** The response to a request that fails. Undefined for the usual one, which is JSON. */
  renderError?(error: ApiError): PreparedResponse | undefined
}

/**
 * Requests of one client address in a minute. `name` is what is counted, such as "photos". It identifies the allowance:
 * those of the same name are counted together and have the same `perMinute`.
 */
export type PageAllowance = { readonly name: string; readonly perMinute: number }

/** `db` is for reads without a key. */
export type PageContext = Pick<ReadContext, 'address' | 'now' | 'db'> &
  Pick<Route, 'params'> & {
    /** What several pages are made of: it is computed once until the database changes. */
    cached<T>(name: string, compute: () => Promise<T>): Promise<T>
  }

type Target = { readonly operations: Map<Method, Operation>; readonly page: WebPage | undefined }

export type Route = Target & { readonly params: Readonly<Record<string, string>> }

/** The router finds a path; the pipeline chooses the operation by its method. */
const anyMethod = 'GET'
const paramLengthMax = 16 * 1024

export class Router {
  readonly #routes = findMyWay({ maxParamLength: paramLengthMax })

  constructor(operations: readonly Operation[], pages: readonly WebPage[]) {
    for (const [path, peers] of Map.groupBy(operations, (operation) => operation.path)) {
      const byMethod = new Map(peers.map((operation) => [operation.method, operation]))
      this.#add(basePath + path, { operations: byMethod, page: undefined })
    }
    for (const page of pages) {
      const target = { operations: new Map(), page }
      this.#add(page.path, target)
      if (page.path !== '/' && !page.path.endsWith('*')) this.#add(`${page.path}/`, target)
    }
  }

  find(path: string): Route | undefined {
    // Escaped, because the router would also decode the fixed parts of a path.
    const found = this.#routes.find(anyMethod, path.includes('%') ? path.replaceAll('%', '%25') : path)
    if (!found) return undefined
    const { operations, page } = found.store as Target
    const params = found.params as Record<string, string>
    // A parameter is not empty. A page is also found with a slash at the end.
    const isEmpty = page ? Object.values(params).includes('') : path.endsWith('/') || path.includes('//')
    if (isEmpty) return undefined
    if (path.includes('%')) for (const name in params) params[name] = decode(params[name] as string)
    return { operations, page, params }
  }

  #add(path: string, target: Target): void {
    this.#routes.on(anyMethod, path.replaceAll(/\{(\w+)\}/g, ':$1'), () => {}, target)
  }
}

/** Whether a path belongs to the API. Pages can be below its base path. */
export const isApiPath = ({ path, page }: { path: string; page: WebPage | undefined }): boolean =>
  !page && (path.startsWith(`${basePath}/`) || path === basePath)

/** The error of a path outside the API that has no page. */
export const pageNotFound = (): ApiError =>
  new ApiError(
    apiErrors.not_found,
    'This path does not exist. The API is under /v1, its reference at /docs, guides at /guides.',
  )

export function allowedMethods({ operations, page }: Route): string {
  if (page) return page.isPublic ? 'GET, HEAD, OPTIONS' : 'GET, HEAD'
  const methods: string[] = [...operations.keys()]
  if (methods.includes('GET')) methods.push('HEAD')
  return [...methods, 'OPTIONS'].join(', ')
}

/** A segment that is not valid percent-encoding is taken literally. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

export function methodNotAllowed(route: Route): ApiError {
  const Allow = allowedMethods(route)
  return new ApiError(apiErrors.method_not_allowed, `This path supports ${Allow}.`, { headers: { Allow } })
}
