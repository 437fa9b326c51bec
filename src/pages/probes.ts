import type { Page } from '../http/app.ts'

const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' }

/** Probes for whoever watches over the process. */
export function probePages(isReady: () => Promise<boolean>): Page[] {
  return [
    { path: '/healthz', serve: () => new Response('{"status":"up"}', { headers }) },
    {
      path: '/readyz',
      async serve() {
        return (await isReady())
          ? new Response('{"status":"ready"}', { headers })
          : new Response('{"status":"not ready"}', {
              status: 503,
              headers: { ...headers, 'Retry-After': '1' },
            })
      },
    },
  ]
}
