import { respond } from '../api/operation.ts'
import { type HeaderFields, prepareResponse } from '../api/response.ts'
import type { WebPage } from '../api/router.ts'

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
