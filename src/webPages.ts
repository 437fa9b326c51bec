import { adoptionPages } from './adoption/pages.ts'
import type { Authenticator } from './api/authentication.ts'
import type { Operation } from './api/operation.ts'
import type { PageContext, WebPage } from './api/router.ts'
import type { Config } from './config.ts'
import { consolePages } from './pages/console.ts'
import { guidePages } from './pages/guides.ts'
import { homePage, notFoundPage } from './pages/home.ts'
import { metricsPage, probePages } from './pages/probes.ts'
import { referencePages } from './pages/reference.ts'
import { type StaticPage, serveFromMemory } from './pages/staticPage.ts'
import { photoFilePage } from './photos/pages.ts'
import { findStoreProfile } from './store/queries.ts'
import type { Metrics } from './telemetry/metrics.ts'

type PagesOptions = {
  readonly config: Config
  readonly metrics: Metrics
  readonly authenticator: Authenticator
  readonly operations: readonly Operation[]
  isReady(): Promise<boolean>
}

/** Everything that is served outside the API: the pages of the program, then those of the features, and those given. */
export function createPages(
  { config, operations, metrics, authenticator, isReady }: PagesOptions,
  additional: readonly WebPage[],
) {
  const staticPages = [
    ...consolePages(config.environment),
    ...guidePages(config.environment),
    ...referencePages(config.environment, async () => {
      const { openApiDocument } = await import('./openapi/document.ts')
      return openApiDocument({ operations, ...config })
    }),
  ]
  const pages = [
    byAdoptionPage((hasAdoptionPage) => homePage({ ...config, hasAdoptionPage })),
    ...staticPages.map(serveFromMemory),
    ...probePages(isReady),
    metricsPage(metrics, authenticator, config.isMetricsOpen),
    photoFilePage,
    ...adoptionPages({ publicUrl: config.publicUrl, isStaging: config.environment === 'staging' }),
    ...additional,
  ]
  return {
    pages,
    notFoundPage: byAdoptionPage((hasAdoptionPage) => notFoundPage({ ...config, hasAdoptionPage })),
  }
}

/** A page that links to the adoption page while that is on. */
function byAdoptionPage(create: (hasAdoptionPage: boolean) => StaticPage): WebPage {
  const usual = serveFromMemory(create(false))
  const linking = serveFromMemory(create(true))
  return {
    path: usual.path,
    async serve(request, context) {
      const page = (await isAdoptionPageOn(context)) ? linking : usual
      return page.serve(request, context)
    },
  }
}

/** False if the database cannot be read: the other links are still of use. */
const isAdoptionPageOn = ({ db, cached }: PageContext): Promise<boolean> =>
  cached('store profile', () => findStoreProfile(db)).then(
    ({ adoptionPage }) => adoptionPage,
    () => false,
  )
