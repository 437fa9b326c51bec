import { Hono } from 'hono'
import type { Soon } from '../soon.ts'
import { ApiError } from './errors.ts'
import { givenRequestId, newRequestId } from './exchange.ts'
import { fromRequest, type Incoming } from './incoming.ts'
import { type Outgoing, toResponse } from './outgoing.ts'

export type Env = { Bindings: { remoteAddress: string } }
export type App = Hono<Env>

/** A page or a probe beside the API. */
export type Page = {
  path: string
  serve(request: Request, remoteAddress: string): Response | Promise<Response>
}

export type Api = (incoming: Incoming) => Soon<Outgoing>

export type AppOptions = {
  readonly pages: readonly Page[]
  api: Api
  onFault(error: unknown): void
}

/** Everything that answers: the pages and probes, then the API, then 404. */
export function createApp({ pages, api, onFault }: AppOptions): App {
  const app: App = new Hono({ strict: false })
  // The API sets its own.
  app.use(async (c, next) => {
    await next()
    if (!c.res.headers.has('X-Request-Id'))
      c.header('X-Request-Id', givenRequestId(c.req.header('X-Request-Id')) ?? newRequestId())
  })
  const answer = async (request: Request, remoteAddress: string) =>
    toResponse(await api(fromRequest(request, remoteAddress)))
  for (const page of pages) app.get(page.path, (c) => page.serve(c.req.raw, c.env.remoteAddress))
  for (const page of pages) app.all(page.path, () => refusal(notGet))
  app.all('/v1/*', (c) => answer(c.req.raw, c.env.remoteAddress))
  app.all('/v1', (c) => answer(c.req.raw, c.env.remoteAddress))
  app.notFound(() =>
    refusal(
      new ApiError(
        'not_found',
        'There is nothing at this path: the API is under /v1, its reference at /docs.',
      ),
    ),
  )
  app.onError((error) => {
    onFault(error)
    return refusal(new ApiError('internal_error'))
  })
  return app
}

const notGet = new ApiError('method_not_allowed', undefined, { headers: { Allow: 'GET, HEAD' } })

/** An Error body outside the API. */
export function refusal({ body, status, headers }: ApiError): Response {
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}
  return Response.json(body, {
    status,
    headers: { ...headers, ...challenge, 'X-Content-Type-Options': 'nosniff' },
  })
}
