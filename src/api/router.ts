import { addRoute, createRouter, findRoute } from 'rou3'
import type { MaybePromise } from '../maybePromise.ts'
import type { Method, Operation } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { PreparedResponse } from './response.ts'

export const basePath = '/v1'

/** A resource outside the API: an HTML page, a document or a probe. It takes GET and HEAD. */
export type Page = {
  readonly path: string
  /** GET and HEAD take nothing from the allowance of the client's address. */
  readonly isExempt?: boolean
  /** Any browser origin may read it. */
  readonly isPublic?: boolean
  serve(request: ApiRequest, address: string): MaybePromise<PreparedResponse>
}

type Target = { readonly operations: Map<Method, Operation>; readonly page?: Page }

export type Route = Target & { readonly params: Readonly<Record<string, string>> }

const noParams: Record<string, string> = {}

export class Router {
  readonly #routes = createRouter<Target>()

  constructor(operations: readonly Operation[], pages: readonly Page[]) {
    for (const [path, peers] of Map.groupBy(operations, (operation) => operation.path)) {
      const byMethod = new Map(peers.map((operation) => [operation.method, operation]))
      addRoute(this.#routes, '', basePath + path.replaceAll(/\{(\w+)\}/g, ':$1'), { operations: byMethod })
    }
    for (const page of pages) addRoute(this.#routes, '', page.path, { operations: new Map(), page })
  }

  find(path: string): Route | undefined {
    const found = findRoute(this.#routes, '', path)
    if (!found) return undefined
    const { data, params = noParams } = found
    // Only pages may end with a slash.
    if (!data.page && path.endsWith('/')) return undefined
    for (const name in params) params[name] = decode(params[name] as string)
    return { ...data, params }
  }
}

export function allowedMethods({ operations, page }: Route): string {
  if (page) return page.isPublic ? 'GET, HEAD, OPTIONS' : 'GET, HEAD'
  const methods: string[] = [...operations.keys()]
  if (methods.includes('GET')) methods.push('HEAD')
  return [...methods, 'OPTIONS'].join(', ')
}

/** A segment that is not valid percent-encoding is taken literally. */
function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
