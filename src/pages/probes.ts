import { type Authenticator, authorize } from '../api/authentication.ts'
import { respond } from '../api/operation.ts'
import { type HeaderFields, prepareResponse } from '../api/response.ts'
import type { WebPage } from '../api/router.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** For load balancers and process supervisors. */
export const probePages = (isReady: () => Promise<boolean>): WebPage[] => [
  { path: '/healthz', isExempt: true, serve: () => probeResponse(200, 'up') },
  {
    path: '/readyz',
    isExempt: true,
    serve: async () =>
      (await isReady())
        ? probeResponse(200, 'ready')
        : probeResponse(503, 'not ready', { 'Retry-After': '1' }),
  },
]

const probeResponse = (status: number, state: string, headers: HeaderFields = {}) =>
  prepareResponse(respond(status, { status: state }, { 'Cache-Control': 'no-store', ...headers }))

/**
 * For Prometheus. Requires a key with `metrics:read` or `keys:manage`, unless the operator has opened it. The request counts for
 * the key, or for the address if the key is not valid, as in the API. When open it counts as any other page does.
 */
export const metricsPage = (metrics: Metrics, authenticator: Authenticator, isOpen: boolean): WebPage => ({
  path: '/metrics',
  isExempt: !isOpen,
  requiresKey: !isOpen,
  async serve(request, { address }) {
    if (!isOpen) {
      const authorization = request.header('authorization')
      const credentials = { authorization, address, isChange: false, rateLimitExempt: false }
      const { principal, error } = await authenticator.authenticate(credentials)
      if (error) throw error
      // Keys for Prometheus had this scope before 1.4.0.
      const scope = principal?.scopes.has('keys:manage') ? 'keys:manage' : 'metrics:read'
      authorize(request.header('origin'), principal, { scope })
    }
    const headers = {
      'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
      'Cache-Control': 'no-store',
    }
    return prepareResponse({ status: 200, bytes: Buffer.from(await metrics.render()), headers })
  },
})
