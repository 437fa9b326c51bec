import type { BlockList } from 'node:net'
import type { Authenticator } from '../api/authentication.ts'
import { clientAddress } from '../api/clientAddress.ts'
import { ApiError } from '../api/errors.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Page, refusal } from './app.ts'

type MetricsPageOptions = {
  readonly metrics: Metrics
  readonly door: Authenticator
  /** The operator has opened it: no key is needed. */
  readonly isOpen: boolean
  readonly trustedProxies: BlockList
}

/**
 * For Prometheus: needs a key with `keys:manage`, unless the operator has opened it. With a key the request counts for that
 * key, without a valid one for the address, as in the API; when open it counts as any other page does.
 */
export function metricsPage({ metrics, door, isOpen, trustedProxies }: MetricsPageOptions): Page {
  return {
    path: '/metrics',
    isExempt: !isOpen,
    async serve(request, remoteAddress, common) {
      const error = isOpen ? undefined : await problem(request, remoteAddress)
      if (error) return refusal(error, common)
      const { text, contentType } = await metrics.render()
      const headers = { ...common, 'Content-Type': contentType, 'Cache-Control': 'no-store' }
      return new Response(text, { headers })
    },
  }

  async function problem({ headers }: Request, remoteAddress: string): Promise<ApiError | undefined> {
    const authorization = headers.get('authorization') ?? undefined
    const forwardedFor = headers.get('x-forwarded-for') ?? undefined
    const address = clientAddress(remoteAddress, forwardedFor, trustedProxies)
    const { principal: caller, error: refused } = await door.authenticate({
      authorization,
      address,
      rateLimitExempt: false,
    })
    if (refused) return refused
    if (caller?.scopes.has('keys:manage')) return undefined
    return new ApiError(
      'insufficient_scope',
      'This API key lacks the scope "keys:manage": ask the operator for it.',
    )
  }
}
