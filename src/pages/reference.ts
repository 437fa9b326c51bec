import { assetUrl, isExecutable, readAsset } from '../assets.ts'
import { type ColourMode, colours, headerHeightRem, pageHeaders, pageHeadHtml } from './layout.ts'
import type { StaticPage } from './staticPage.ts'

/** The reference is one script with inline styles, which may fetch from this service only. */
const policy =
  "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Scalar leaves space for the navigation bar, and uses the colours of the pages. */
const style = `
:root { --scalar-custom-header-height: ${headerHeightRem}rem }
body { margin: 0; background: var(--paper) }
`
// As values for both modes: Scalar shows dark parts, such as code, on a light page.
const scalarColours = (mode: ColourMode) =>
  `.${mode}-mode { --scalar-background-1: ${colours.paper[mode]}; --scalar-background-2: ${colours.code[mode]}; --scalar-color-1: ${colours.ink[mode]}; --scalar-color-accent: ${colours.accent[mode]}; --scalar-border-color: ${colours.line[mode]}; --scalar-color-2: ${colours.soft[mode]}; --scalar-sidebar-background-1: ${colours.card[mode]}; --scalar-radius: 8px; --scalar-radius-lg: 12px; --scalar-font: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; --scalar-font-code: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }`

const page = `${pageHeadHtml('API reference - Petstore', '/docs', style)}
<div id="content"></div>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/**
 * The console keeps its key and its colours in the storage of the same origin, see console/src/app/session.ts and
 * theme.ts. The key stays in this page: Scalar does not store it.
 */
const start = `const key = sessionStorage.getItem('petstore.key')
const theme = localStorage.getItem('petstore.theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
Scalar.createApiReference('#content', {
  url: '/v1/openapi.json',
  agent: { disabled: true },
  ...(key !== null && {
    authentication: { preferredSecurityScheme: 'apiKey', securitySchemes: { apiKey: { token: key } } },
  }),
  customCss: ${JSON.stringify(`${scalarColours('light')}\n${scalarColours('dark')}`)},
  ...((theme === 'light' || theme === 'dark') && { forceDarkModeState: theme }),
  hideClientButton: true,
  hideDarkModeToggle: true,
  mcp: { disabled: true },
  persistAuth: false,
  proxyUrl: '',
  showDeveloperTools: 'never',
  telemetry: false,
  withDefaultFonts: false,
})
`

/** After the person has signed out, the browser can show the page from its cache, with the key. */
const forgetKey = `addEventListener('pageshow', ({ persisted }) => {
  if (persisted && sessionStorage.getItem('petstore.key') !== key) location.reload()
})
`

const scriptHeaders = pageHeaders('text/javascript; charset=utf-8')

/** The reference, its scripts, and the document that it shows. */
export function referencePages(createDocument: () => Promise<Record<string, unknown>>): StaticPage[] {
  return [
    {
      path: '/v1/openapi.json',
      headers: pageHeaders('application/json; charset=utf-8'),
      isPublic: true,
      render: async () => (await import('../openapi/document.ts')).formatDocument(await createDocument()),
    },
    {
      path: '/v1/openapi.yaml',
      headers: pageHeaders('application/yaml; charset=utf-8'),
      isPublic: true,
      render: async () => (await import('../openapi/yaml.ts')).toYaml(await createDocument()),
    },
    { path: '/docs', headers: pageHeaders('text/html; charset=utf-8', policy), render: () => page },
    { path: '/docs/start.js', headers: scriptHeaders, render: () => start + forgetKey },
    { path: '/docs/reference.js', headers: scriptHeaders, render: loadScalar },
  ]
}

type Reply = { header(): Reply; send(body: string): void }
type Route = { url: string; handler(request: unknown, reply: Reply): void }

/**
 * Scalar's browser script. Only Scalar's Fastify plugin contains the script without 200 dependencies, so the plugin is
 * registered with a recorder of its routes, and the handler of the script's route is called.
 */
export async function loadScalar(): Promise<string> {
  // The build of the executable has called this function, and embedded the result.
  if (isExecutable) return readAsset(assetUrl('./pages/scalar.js'))
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const routes: Route[] = []
  const recorder = { route: (route: Route) => routes.push(route) }
  const options = { routePrefix: '/docs', configuration: { url: '/v1/openapi.json' } }
  plugin(recorder as never, options as never, () => {})
  const script = routes.find(({ url }) => url === '/docs/js/scalar.js')
  if (!script) throw new Error('The Scalar plugin has no route for its script.')
  return new Promise((send) => {
    const reply: Reply = { header: () => reply, send }
    script.handler(undefined, reply)
  })
}
