import { type Context, Hono } from 'hono'
import type { Soon } from '../soon.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { ApiError } from './errors.ts'
import { givenRequestId, newRequestId } from './exchange.ts'
import { fromRequest, type Incoming } from './incoming.ts'
import { type Outgoing, toResponse } from './outgoing.ts'

export type Env = { Bindings: { remoteAddress: string } }
export type App = Hono<Env>

/** A page or a probe beside the API. */
export type Page = {
  readonly path: string
  /** GET takes nothing from the allowance of the client's address. */
  readonly isExempt?: boolean
  /** Any browser origin may read it. */
  readonly isPublic?: boolean
  serve(request: Request, remoteAddress: string): Response | Promise<Response>
}

export type Api = (incoming: Incoming) => Soon<Outgoing>

export type AppOptions = {
  readonly pages: readonly Page[]
  api: Api
  /** Takes one request from the allowance of its address; returns the error to answer where nothing is left. */
  admitToPages(remoteAddress: string, forwardedFor: string | undefined): ApiError | undefined
  onFault(error: unknown): void
}

/** Everything that answers: the pages and probes, then the API, then 404. */
export function createApp({ pages, api, admitToPages, onFault }: AppOptions): App {
  const app: App = new Hono({ strict: false })
  // The API sets its own.
  app.use(async (c, next) => {
    await next()
    if (!c.res.headers.has('X-Request-Id'))
      c.header('X-Request-Id', givenRequestId(c.req.header('X-Request-Id')) ?? newRequestId())
  })
  const answer = async (request: Request, remoteAddress: string) =>
    toResponse(await api(fromRequest(request, remoteAddress)))
  const limited = (c: Context<Env>, serve: () => Response | Promise<Response>, errorHeaders = {}) => {
    const error = admitToPages(c.env.remoteAddress, c.req.header('x-forwarded-for'))
    return error ? refusal(error, errorHeaders) : serve()
  }
  for (const page of pages) {
    const allowed = page.isPublic ? 'GET, HEAD, OPTIONS' : 'GET, HEAD'
    const cors = page.isPublic ? publicHeaders : {}
    app.get(page.path, (c) => {
      const serve = () => page.serve(c.req.raw, c.env.remoteAddress)
      return page.isExempt ? serve() : limited(c, serve, cors)
    })
    // Not limited: it costs nothing, and a page could not read a 429 whose preflight has failed.
    if (page.isPublic) app.options(page.path, () => preflight(allowed))
    const notAllowed = new ApiError('method_not_allowed', undefined, { headers: { Allow: allowed } })
    app.all(page.path, (c) => limited(c, () => refusal(notAllowed, cors), cors))
  }
  app.all('/v1/*', (c) => answer(c.req.raw, c.env.remoteAddress))
  app.all('/v1', (c) => answer(c.req.raw, c.env.remoteAddress))
  app.notFound((c) => limited(c, () => refusal(nothingHere)))
  app.onError((error) => {
    onFault(error)
    return refusal(new ApiError('internal_error'))
  })
  return app
}

const nothingHere = new ApiError(
  'not_found',
  'There is nothing at this path: the API is under /v1, its reference at /docs, guides at /guides.',
)

/** For what any browser origin may read, errors included. */
export const publicHeaders = corsHeaders('*')

const preflight = (allowed: string) =>
  new Response(null, {
    status: 204,
    headers: { ...publicHeaders, ...preflightHeaders, Allow: allowed },
  })

/** An Error body outside the API. */
export function refusal({ body, status, headers }: ApiError, more: Record<string, string> = {}): Response {
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return Response.json(body, {
    status,
    headers: { ...headers, ...challenge, ...more, 'X-Content-Type-Options': 'nosniff' },
  })
}
