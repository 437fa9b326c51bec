import { gzipSync } from 'node:zlib'
import { stringify } from 'yaml'
import type { Page } from '../http/app.ts'
import { etagOf, matchesAny } from '../http/etag.ts'
import { documentText } from '../http/openapi.ts'
import { headerRems, pageHeaders, pageStart, palettes } from './layout.ts'

/** The reference is one script in a page of its own: it brings its styles along, and may fetch from this service alone. */
const policy =
  "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Scalar makes room for the bar, and takes on the pages' colours. */
const style = `
:root { --scalar-custom-header-height: ${headerRems}rem }
body { margin: 0; background: var(--paper) }
`
// In both modes by value: Scalar shows dark pieces, such as code, in a light page.
const scalarStyle = Object.entries(palettes)
  .map(
    ([mode, { paper, code, ink, accent, line }]) =>
      `.${mode}-mode { --scalar-background-1: ${paper}; --scalar-background-2: ${code}; --scalar-color-1: ${ink}; --scalar-color-accent: ${accent}; --scalar-border-color: ${line} }`,
  )
  .join('\n')

const page = `${pageStart('API reference - Petstore', '/docs', style)}
<div id="content"></div>
<script src="/docs/reference.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const start = `Scalar.createApiReference('#content', {
  url: '/v1/openapi.json',
  agent: { disabled: true },
  customCss: ${JSON.stringify(scalarStyle)},
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

/** The reference, the script behind it, and the description it shows: all from this package. */
export function referencePages(openApi: Record<string, unknown>): Page[] {
  const json = documentText(openApi)
  const yaml = stringify(openApi, { aliasDuplicateObjects: false })
  const text = (body: string, type: string) => () => new Response(body, { headers: pageHeaders(type) })
  let script: Promise<StaticFile> | undefined
  return [
    { path: '/v1/openapi.json', serve: text(json, 'application/json; charset=utf-8') },
    { path: '/v1/openapi.yaml', serve: text(yaml, 'application/yaml; charset=utf-8') },
    {
      path: '/docs',
      serve: () => new Response(page, { headers: pageHeaders('text/html; charset=utf-8', policy) }),
    },
    { path: '/docs/start.js', serve: text(start, 'text/javascript; charset=utf-8') },
    {
      path: '/docs/reference.js',
      async serve(request) {
        script ??= loadScalar().then((text) => staticFile(text, 'text/javascript; charset=utf-8'))
        return (await script)(request)
      },
    },
  ]
}

type StaticFile = (request: Request) => Response

/** A large text that is always the same: one copy in memory for all who ask, compressed where they take it. */
function staticFile(text: string, type: string): StaticFile {
  const plain = Buffer.from(text)
  const zipped = gzipSync(plain)
  const headers = { ...pageHeaders(type), ETag: etagOf(text), Vary: 'Accept-Encoding' }
  return (request) => {
    if (matchesAny(request.headers.get('if-none-match') ?? '', headers.ETag)) {
      return new Response(null, { status: 304, headers })
    }
    const isZipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    if (!isZipped) return new Response(plain, { headers })
    return new Response(zipped, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

type Handler = (request: unknown, reply: { header(): unknown; send(body: string): void }) => void

/**
 * Scalar's browser script. Of its packages only the one for Fastify carries the script without 200 others beside it;
 * so the plugin is registered with something that remembers its routes, and the script's route is asked.
 */
async function loadScalar(): Promise<string> {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const handlers = new Map<string, Handler>()
  const recorder = {
    route: ({ url, handler }: { url: string; handler: Handler }) => void handlers.set(url, handler),
  }
  plugin(
    recorder as never,
    { routePrefix: '/docs', configuration: { url: '/v1/openapi.json' } } as never,
    () => {},
  )
  return new Promise((resolve, reject) => {
    const handler = handlers.get('/docs/js/scalar.js')
    if (!handler) return reject(new Error('Scalar has no script where it used to be.'))
    const reply = { header: () => reply, send: resolve }
    handler(undefined, reply)
  })
}
