import type { Page } from '../http/app.ts'
import { type Outgoing, toResponse } from '../http/incoming.ts'

const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' }

export type Probes = Readonly<Record<string, () => Promise<Outgoing>>>

/** Probes for whoever watches over the process, by their paths. */
export const createProbes = (isReady: () => Promise<boolean>): Probes => ({
  '/healthz': async () => ({ status: 200, headers: { ...headers }, body: '{"status":"up"}' }),
  '/readyz': async () =>
    (await isReady())
      ? { status: 200, headers: { ...headers }, body: '{"status":"ready"}' }
      : { status: 503, headers: { ...headers, 'Retry-After': '1' }, body: '{"status":"not ready"}' },
})

export const probePages = (probes: Probes): Page[] =>
  Object.entries(probes).map(([path, probe]) => ({ path, serve: async () => toResponse(await probe()) }))
