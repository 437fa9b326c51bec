import type { Authenticator } from '../api/authentication.ts'
import { authorize } from '../api/authentication.ts'
import { prepareResponse } from '../api/response.ts'
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
    if (!isOpen) {
      const authorization = request.header('authorization')
      const credentials = { authorization, address, rateLimitExempt: false }
      const { principal, error } = await authenticator.authenticate(credentials)
      if (error) throw error
      authorize(request, principal, { scope: 'keys:manage' })
    }
    const { text: json, contentType } = await metrics.render()
    const headers = { 'Content-Type': contentType, 'Cache-Control': 'no-store' }
    return prepareResponse({ status: 200, json, headers })
  },
})
