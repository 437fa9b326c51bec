import { type Context, Hono } from 'hono'
import { corsHeaders, preflightHeaders } from '../api/cors.ts'
import { ApiError } from '../api/errors.ts'
import { type ApiRequest, fromRequest } from '../api/request.ts'
import { givenRequestId, newRequestId } from '../api/requestContext.ts'
import { type ApiResponse, toResponse } from '../api/response.ts'
import type { MaybePromise } from '../maybePromise.ts'

type Env = { Bindings: { remoteAddress: string } }
export type App = Hono<Env>

/** A page or a probe beside the API. */
export type Page = {
  readonly path: string
  /** GET takes nothing from the allowance of the client's address. */
  readonly isExempt?: boolean
  /** Any browser origin may read it. */
  readonly isPublic?: boolean
  /** `common`: headers that every response outside the API has. */
  serve(request: Request, remoteAddress: string, common: HeaderFields): Response | Promise<Response>
}

type HeaderFields = Readonly<Record<string, string>>

export type Api = (incoming: ApiRequest) => MaybePromise<ApiResponse>

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
  const answer = async (request: Request, remoteAddress: string) =>
    toResponse(await api(fromRequest(request, remoteAddress)))
  const limited = (c: Context<Env>, common: HeaderFields, serve: () => Response | Promise<Response>) => {
    const error = admitToPages(c.env.remoteAddress, c.req.header('x-forwarded-for'))
    return error ? refusal(error, common) : serve()
  }
  for (const page of pages) {
    const allowed = page.isPublic ? 'GET, HEAD, OPTIONS' : 'GET, HEAD'
    const cors = page.isPublic ? publicHeaders : {}
    app.get(page.path, (c) => {
      const common = { ...requestIdHeader(c), ...cors }
      const serve = () => page.serve(c.req.raw, c.env.remoteAddress, common)
      return page.isExempt ? serve() : limited(c, common, serve)
    })
    // Not limited: it costs nothing, and a page could not read a 429 whose preflight has failed.
    if (page.isPublic) app.options(page.path, (c) => preflight(allowed, requestIdHeader(c)))
    const notAllowed = new ApiError('method_not_allowed', undefined, { headers: { Allow: allowed } })
    app.all(page.path, (c) => {
      const common = { ...requestIdHeader(c), ...cors }
      return limited(c, common, () => refusal(notAllowed, common))
    })
  }
  app.all('/v1/*', (c) => answer(c.req.raw, c.env.remoteAddress))
  app.all('/v1', (c) => answer(c.req.raw, c.env.remoteAddress))
  app.notFound((c) => {
    const common = requestIdHeader(c)
    return limited(c, common, () => refusal(nothingHere, common))
  })
  app.onError((error, c) => {
    onFault(error)
    return refusal(new ApiError('internal_error'), requestIdHeader(c))
  })
  return app
}

/** Given to a response when it is made: setting it later would turn a body in memory into a stream, one copy for each. */
const requestIdHeader = (c: Context<Env>): HeaderFields => ({
  'X-Request-Id': givenRequestId(c.req.header('X-Request-Id')) ?? newRequestId(),
})

const nothingHere = new ApiError(
  'not_found',
  'There is nothing at this path: the API is under /v1, its reference at /docs, guides at /guides.',
)

/** For what any browser origin may read, errors included. */
const publicHeaders = corsHeaders('*')

const preflight = (allowed: string, common: HeaderFields) =>
  new Response(null, {
    status: 204,
    headers: { ...publicHeaders, ...preflightHeaders, ...common, Allow: allowed },
  })

/** An Error body outside the API. */
export function refusal({ body, status, headers }: ApiError, common: HeaderFields): Response {
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return Response.json(body, {
    status,
    headers: { ...headers, ...challenge, ...common, 'X-Content-Type-Options': 'nosniff' },
  })
}
