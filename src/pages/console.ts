import { extname } from 'node:path'
import { assetUrl, listAssets, readAsset } from '../assets.ts'
import type { Environment } from '../config.ts'
import { codeBlock, htmlHeaders, htmlPage, pageHeaders } from './layout.ts'
import type { StaticPage } from './staticPage.ts'

/** Written by the build. See console/README.md. */
const builtFolder = assetUrl('../console/dist/')

/** The console has no inline script or style, and fetches from this service only. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The console has one document. Its script shows the screen that the path names. */
const screenPaths = [
  '/console',
  '/console/:screen(^[A-Za-z-]+$)',
  '/console/:screen(^[A-Za-z-]+$)/:id(^[A-Za-z0-9_-]+$)',
]
/** The console has no screen for other paths. Its script says so. */
const otherPaths = '/console/*'

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The console: its document and its assets, or a page that says how to build it. */
export function consolePages(environment: Environment, folder: URL = builtFolder): StaticPage[] {
  const assets = listAssets(new URL('assets/', folder))?.filter((name) => extname(name) in contentTypes)
  const notBuilt = { headers: htmlHeaders, render: () => renderNotBuilt(environment) }
  if (assets === undefined) return screenPaths.map((path) => ({ path, ...notBuilt }))
  const headers = pageHeaders('text/html; charset=utf-8', policy)
  // Before any key is entered, the document says which environment this is.
  const render = () => {
    const built = readAsset(new URL('index.html', folder))
    const document = built.replace('<html lang="en"', `<html lang="en" data-environment="${environment}"`)
    if (document === built) throw new Error('The document of the console has no <html lang="en">.')
    return document
  }
  return [
    ...screenPaths.map((path) => ({ path, headers, render })),
    { path: otherPaths, status: 404, headers, render },
    ...assets.map((name) => assetPage(folder, name)),
  ]
}

/** The name of an asset contains a hash of its content, so its content never changes. */
const assetPage = (folder: URL, name: string): StaticPage => ({
  path: `/console/assets/${name}`,
  headers: {
    ...pageHeaders(contentTypes[extname(name)] as string, policy),
    'Cache-Control': 'public, max-age=31536000, immutable',
  },
  render: () => readAsset(new URL(`assets/${name}`, folder)),
})

const renderNotBuilt = (environment: Environment) =>
  htmlPage(
    environment,
    'Console',
    '/console',
    `<h1>The console is not built</h1>
<p class="lead">This installation has the service without its console.</p>
<p>Packages and the image contain the console. In a checkout, build it and start the service again:</p>
${codeBlock('npm ci\nnpm run build:console')}
<p>The API works without it. The <a href="/docs">reference</a> and the <a href="/guides">guides</a> describe it.</p>`,
  )
