import type { ApiRequest } from '../api/request.ts'
import type { HeaderFields, PreparedResponse } from '../api/response.ts'
import { type PageContext, pageNotFound, type WebPage } from '../api/router.ts'
import { pageHeaders } from '../pages/layout.ts'
import { acceptsGzip, represent, type StaticPage, serveFromMemory } from '../pages/staticPage.ts'
import { findStoreProfile } from '../store/queries.ts'
import type { StoreProfile } from '../store/store.ts'
import type { Site } from './document.ts'
import { renderFailure } from './notices.ts'

const policy =
  "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; frame-ancestors 'none'"
const cacheControl = 'public, max-age=60'
const noStore = { 'Cache-Control': 'no-store' }

/** For each client address. */
const pageAllowance = { name: 'adoption pages', perMinute: 600 }
const searchAllowance = { name: 'searches', perMinute: 30 }

const types = {
  html: 'text/html; charset=utf-8',
  json: 'application/json; charset=utf-8',
  atom: 'application/atom+xml; charset=utf-8',
  xml: 'application/xml; charset=utf-8',
  text: 'text/plain; charset=utf-8',
} as const

/** The text of a response, or the address where it is. */
type Rendered =
  | { readonly status?: number; readonly text: string; readonly headers?: HeaderFields }
  | { readonly redirectTo: string }

export type AdoptionPage = Pick<WebPage, 'path' | 'isPublic'> & {
  readonly type: keyof typeof types
  /** Searches have an allowance of their own. */
  isSearch?(request: ApiRequest): boolean
  /** What the response depends on besides the path. Undefined if it must not be cached. */
  keyOf(request: ApiRequest): string | undefined
  /** The current response, while the adoption page is on. Undefined if there is nothing at this path. */
  render(request: ApiRequest, context: PageContext, store: StoreProfile): Promise<Rendered | undefined>
}

const headersOf = (type: keyof typeof types): HeaderFields => ({
  ...pageHeaders(types[type], policy),
  'Cache-Control': cacheControl,
})

const isZipped = (request: ApiRequest): boolean => acceptsGzip(request.header('accept-encoding'))

/** A page that exists only while the adoption page is on. */
export const adoptionPage = (
  site: Site,
  { type, keyOf, isSearch, render, ...page }: AdoptionPage,
): WebPage => ({
  ...page,
  id: 'adoption',
  allowance: (request) => (isSearch?.(request) ? searchAllowance : pageAllowance),
  cacheKey(request, { params, now }) {
    const key = keyOf(request)
    // Ages change at midnight.
    const date = new Date(now).toISOString().slice(0, 10)
    return key === undefined ? undefined : [date, isZipped(request), ...Object.values(params), key].join(' ')
  },
  requireExistence: requireOn,
  async serve(request, context) {
    const store = await requireOn(context)
    const rendered = await render(request, context, store)
    if (rendered === undefined) throw pageNotFound()
    if ('redirectTo' in rendered) return redirect(rendered.redirectTo)
    const { status = 200, text, headers } = rendered
    return represent(text, isZipped(request), {
      status,
      headers: { ...headersOf(type), ...headers, ...(status >= 400 && noStore) },
    })
  },
  renderError(error) {
    const text = type === 'html' ? renderFailure(error, site) : undefined
    if (text === undefined) return undefined
    const headers = { ...headersOf(type), ...noStore, ...error.headers }
    return { status: error.status, headers: Object.entries(headers).flat(), body: text }
  },
})

/** A file that is the same for every client. */
export function adoptionFile(file: StaticPage): WebPage {
  const page = serveFromMemory(file)
  return {
    ...page,
    cacheKey: (request) => String(isZipped(request)),
    requireExistence: requireOn,
    async serve(request, context) {
      await requireOn(context)
      return page.serve(request, context)
    },
  }
}

export const fileHeaders = (contentType: string, cache: string): Record<string, string> => ({
  ...pageHeaders(contentType, policy),
  'Cache-Control': cache,
})

/** The store, if its adoption page is on. Otherwise its paths do not exist. */
async function requireOn({ db, cached }: PageContext): Promise<StoreProfile> {
  const store = await cached('store profile', () => findStoreProfile(db))
  if (!store.adoptionPage) throw pageNotFound()
  return store
}

const redirect = (location: string): PreparedResponse => ({
  status: 302,
  headers: ['Location', location, 'Cache-Control', cacheControl, 'Content-Length', '0'],
})
