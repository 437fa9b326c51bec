import type { Authenticator } from '../api/authentication.ts'
import { ApiError } from '../api/errors.ts'
import type { Page } from '../api/router.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export type MetricsPageOptions = {
  readonly metrics: Metrics
  readonly authenticator: Authenticator
  /** The operator has opened it: no key is needed. */
  readonly isOpen: boolean
}

/**
 * For Prometheus. Requires a key with `keys:manage`, unless the operator has opened it. The request counts for the key, or
 * for the address if the key is not valid, as in the API. When open it counts as any other page does.
 */
export const metricsPage = ({ metrics, authenticator, isOpen }: MetricsPageOptions): Page => ({
  path: '/metrics',
  isExempt: !isOpen,
  async serve(request, address) {
    if (!isOpen) await requireManager(request.header('authorization'), address, authenticator)
    const { text: body, contentType } = await metrics.answer()
    const length = String(Buffer.byteLength(body))
    const headers = ['Content-Type', contentType, 'Cache-Control', 'no-store', 'Content-Length', length]
    return { status: 200, headers, body }
  },
})

async function requireManager(
  authorization: string | undefined,
  address: string,
  authenticator: Authenticator,
): Promise<void> {
  const { principal, error } = await authenticator.authenticate({
    authorization,
    address,
    rateLimitExempt: false,
  })
  if (error) throw error
  if (principal?.scopes.has('keys:manage')) return
  throw new ApiError(
    'insufficient_scope',
    'This API key lacks the scope "keys:manage": ask the operator for it.',
  )
}
