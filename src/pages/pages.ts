import type { Operation } from '../api/operation.ts'
import type { Page } from '../api/router.ts'
import type { Config } from '../config.ts'
import { guidePages } from './guides.ts'
import { homePage } from './home.ts'
import { type MetricsPageOptions, metricsPage } from './metrics.ts'
import { probePages } from './probes.ts'
import { referencePages } from './reference.ts'
import { serveFromMemory } from './staticPage.ts'

type PagesOptions = Omit<MetricsPageOptions, 'isOpen'> & {
  readonly config: Config
  readonly operations: readonly Operation[]
  isReady(): Promise<boolean>
}

/** Everything that is served outside the API. */
export function createPages({ config, operations, isReady, ...metrics }: PagesOptions): Page[] {
  const staticPages = [
    homePage(config.environment, config.publicUrl),
    ...guidePages(),
    ...referencePages(async () => {
      const { openApiDocument } = await import('../openapi/document.ts')
      return openApiDocument({ operations, ...config })
    }),
  ]
  return [
    ...staticPages.map(serveFromMemory),
    ...probePages(isReady),
    metricsPage({ ...metrics, isOpen: config.isMetricsOpen }),
  ]
}
