import { assetUrl, isExecutable, readAsset } from '../assets.ts'
import type { Environment } from '../config.ts'
import {
  type ColourMode,
  colours,
  headerHeightRem,
  pageHeaders,
  pageHeadHtml,
  scriptHeaders,
} from './layout.ts'
import { referenceScript } from './referenceScript.ts'
import type { StaticPage } from './staticPage.ts'

/** The reference is one script with inline styles, which may fetch from this service only. */
const policy =
  "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Scalar leaves space for the navigation bar, and uses the colours of the pages. */
const style = (environment: Environment) => `
:root { --scalar-custom-header-height: ${headerHeightRem(environment)}rem }
body { margin: 0; background: var(--paper) }
`
/** For methods and code: the defaults have too little contrast. The same as in console/src/styles/tokens.css. */
const hues = {
  blue: { light: '#1f5fa8', dark: '#8fc1f7' },
  green: { light: '#17693f', dark: '#7fd6a0' },
  yellow: { light: '#85500a', dark: '#f0bf6c' },
  orange: { light: '#8f4400', dark: '#ffb784' },
  red: { light: '#b3261e', dark: '#ff9d94' },
  purple: { light: '#6a3aa8', dark: '#cbb2f5' },
}
const otherVariables =
  '--scalar-radius: 8px; --scalar-radius-lg: 12px; --scalar-font: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; --scalar-font-code: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace'

// As values for both modes: Scalar shows dark parts, such as code, on a light page.
function scalarVariables(mode: ColourMode): string {
  const { paper, code, card, ink, soft, accent, line } = colours
  const variables = {
    'background-1': paper,
    'background-2': code,
    'sidebar-background-1': card,
    'sidebar-search-color': soft,
    'color-1': ink,
    'color-2': soft,
    'color-3': soft,
    'color-accent': accent,
    'border-color': line,
    ...Object.fromEntries(Object.entries(hues).map(([name, hue]) => [`color-${name}`, hue])),
  }
  const values = Object.entries(variables).map(([name, colour]) => `--scalar-${name}: ${colour[mode]}`)
  return `.${mode}-mode { ${values.join('; ')}; ${otherVariables} }`
}
/** WCAG 2.2 asks for targets of 24 pixels. */
const targetStyle = '#content button { min-width: 24px; min-height: 24px }'
const customCss = [scalarVariables('light'), scalarVariables('dark'), targetStyle].join('\n')

const page = (
  environment: Environment,
) => `${pageHeadHtml(environment, 'API reference - Petstore', '/docs', style(environment))}
<div id="content"></div>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

/** The reference, its scripts, and the document that it shows. */
export function referencePages(
  environment: Environment,
  createDocument: () => Promise<Record<string, unknown>>,
): StaticPage[] {
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
    {
      path: '/docs',
      headers: pageHeaders('text/html; charset=utf-8', policy),
      render: () => page(environment),
    },
    { path: '/docs/start.js', headers: scriptHeaders, render: () => referenceScript(customCss) },
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
