import type { Authenticator } from '../api/authentication.ts'
import type { Operation } from '../api/operation.ts'
import type { Config } from '../config.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type App, type AppOptions, createApp } from './app.ts'
import { guidePages } from './guides.ts'
import { homePage } from './home.ts'
import { metricsPage } from './metrics.ts'
import { type Probes, probePages } from './probes.ts'
import { referencePages } from './reference.ts'
import { servedFromMemory } from './staticPage.ts'

type SiteOptions = Omit<AppOptions, 'pages'> & {
  readonly config: Config
  readonly operations: readonly Operation[]
  readonly metrics: Metrics
  readonly door: Authenticator
  readonly probes: Probes
}

/** Everything that answers, the API with the pages beside it. Loaded when it is first needed: many never look at a page. */
export function createSite({ config, operations, metrics, door, probes, ...options }: SiteOptions): App {
  const staticPages = [
    homePage(config.environment, config.publicUrl),
    ...guidePages(),
    ...referencePages(() => openApiDocument({ operations, ...config })),
  ]
  const pages = [
    ...staticPages.map(servedFromMemory),
    ...probePages(probes),
    metricsPage({ metrics, door, isOpen: config.isMetricsOpen, trustedProxies: config.trustedProxies }),
  ]
  return createApp({ pages, ...options })
}
