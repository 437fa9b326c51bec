import type { Authenticator } from '../api/authentication.ts'
import type { Operation } from '../api/operation.ts'
import type { WebPage } from '../api/router.ts'
import type { Config } from '../config.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { consolePages } from './console.ts'
import { guidePages } from './guides.ts'
import { homePage } from './home.ts'
import { metricsPage } from './metrics.ts'
import { probePages } from './probes.ts'
import { referencePages } from './reference.ts'
import { serveFromMemory } from './staticPage.ts'

type PagesOptions = {
  readonly config: Config
  readonly metrics: Metrics
  readonly authenticator: Authenticator
  readonly operations: readonly Operation[]
  isReady(): Promise<boolean>
}

/** Everything that is served outside the API. */
export function createPages({
  config,
  operations,
  metrics,
  authenticator,
  isReady,
}: PagesOptions): WebPage[] {
  const staticPages = [
    homePage(config.environment, config.publicUrl),
    ...consolePages(config.environment),
    ...guidePages(config.environment),
    ...referencePages(config.environment, async () => {
      const { openApiDocument } = await import('../openapi/document.ts')
      return openApiDocument({ operations, ...config })
    }),
  ]
  return [
    ...staticPages.map(serveFromMemory),
    ...probePages(isReady),
    metricsPage(metrics, authenticator, config.isMetricsOpen),
  ]
}
