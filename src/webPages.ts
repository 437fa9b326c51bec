import { adoptionPages } from './adoption/pages.ts'
import type { Authenticator } from './api/authentication.ts'
import type { Operation } from './api/operation.ts'
import type { WebPage } from './api/router.ts'
import type { Config } from './config.ts'
import { consolePages } from './pages/console.ts'
import { guidePages } from './pages/guides.ts'
import { homePage } from './pages/home.ts'
import { metricsPage, probePages } from './pages/probes.ts'
import { referencePages } from './pages/reference.ts'
import { serveFromMemory } from './pages/staticPage.ts'
import { photoFilePage } from './photos/pages.ts'
import type { Metrics } from './telemetry/metrics.ts'

type PagesOptions = {
  readonly config: Config
  readonly metrics: Metrics
  readonly authenticator: Authenticator
  readonly operations: readonly Operation[]
  isReady(): Promise<boolean>
}

/** Everything that is served outside the API: the pages of the program, then those of the features. */
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
      const { openApiDocument } = await import('./openapi/document.ts')
      return openApiDocument({ operations, ...config })
    }),
  ]
  return [
    ...staticPages.map(serveFromMemory),
    ...probePages(isReady),
    metricsPage(metrics, authenticator, config.isMetricsOpen),
    photoFilePage,
    ...adoptionPages({ publicUrl: config.publicUrl, isStaging: config.environment === 'staging' }),
  ]
}
