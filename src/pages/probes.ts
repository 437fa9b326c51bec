import { noCallerHeaders } from '../api/callerHeaders.ts'
import { type ApiResponse, HeaderBlock, toResponse } from '../api/response.ts'
import type { Page } from './app.ts'

function probeAnswer(status: number, body: string, more: Record<string, string> = {}): ApiResponse {
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'Content-Length': String(body.length),
  }
  const letterhead = new HeaderBlock({ ...headers, ...more })
  return { status, letterhead, said: noCallerHeaders, body, isAscii: true }
}

export type Probes = ReadonlyMap<string, () => Promise<ApiResponse>>

/** Probes for those that watch over the process, by their paths. */
export const createProbes = (isReady: () => Promise<boolean>): Probes =>
  new Map([
    ['/healthz', async () => probeAnswer(200, '{"status":"up"}')],
    [
      '/readyz',
      async () =>
        (await isReady())
          ? probeAnswer(200, '{"status":"ready"}')
          : probeAnswer(503, '{"status":"not ready"}', { 'Retry-After': '1' }),
    ],
  ])

export const probePages = (probes: Probes): Page[] =>
  [...probes].map(([path, probe]) => ({ path, isExempt: true, serve: async () => toResponse(await probe()) }))
