import { headerBlock, type PreparedResponse } from '../api/response.ts'
import type { Page } from '../api/router.ts'

/** For load balancers and process supervisors. */
export const probePages = (isReady: () => Promise<boolean>): Page[] => [
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

function probeResponse(status: number, state: string, more: Record<string, string> = {}): PreparedResponse {
  const body = JSON.stringify({ status: state })
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Length': String(body.length),
  }
  return { status, headers: headerBlock({ ...headers, ...more }), body }
}
