import { isLoopback } from '../http/address.ts'
import { type Page, refusal } from '../http/app.ts'
import type { Door } from '../http/door.ts'
import { ApiError } from '../http/errors.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** For Prometheus: open to this machine, and to whoever holds an operator's key. */
export function metricsPage(metrics: Metrics, door: Door): Page {
  return {
    path: '/metrics',
    async serve(request, remoteAddress) {
      const error = isFromHere(request, remoteAddress) ? undefined : await problem(request, remoteAddress)
      if (error) return refusal(error)
      const { text, contentType } = await metrics.answer()
      return new Response(text, { headers: { 'Content-Type': contentType, 'Cache-Control': 'no-store' } })
    },
  }

  async function problem(request: Request, address: string): Promise<ApiError | undefined> {
    const authorization = request.headers.get('authorization') ?? undefined
    const { caller, refusal: refused } = await door.admit({ authorization, address, isFree: false })
    if (refused) return refused
    return caller?.scopes.has('keys:manage') ? undefined : new ApiError('insufficient_scope')
  }
}

/** A proxy on this machine speaks for others, and says so. */
const isFromHere = ({ headers }: Request, remoteAddress: string): boolean =>
  isLoopback(remoteAddress) &&
  !['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'].some((name) => headers.has(name))
