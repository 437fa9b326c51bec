import type { Environment } from '../config.ts'
import { codeBlock, escapeHtml, htmlHeaders, htmlPage } from './layout.ts'
import type { StaticPage } from './staticPage.ts'

type HomeOptions = {
  readonly environment: Environment
  readonly publicUrl: string | undefined
  readonly hasAdoptionPage: boolean
}

export const homePage = (options: HomeOptions): StaticPage => ({
  path: '/',
  headers: htmlHeaders,
  render: () => htmlPage(options.environment, 'Petstore', '/', content(options)),
})

/** For people who open an address that does not exist. */
export const notFoundPage = ({ environment, hasAdoptionPage }: HomeOptions): StaticPage => ({
  path: '*',
  status: 404,
  headers: { ...htmlHeaders, 'Cache-Control': 'no-store' },
  render: () =>
    htmlPage(
      environment,
      'Page not found',
      undefined,
      `<h1>This page does not exist</h1>
<p class="lead">Perhaps the address is not complete, or the page has moved.</p>
<ul class="cards">
${hasAdoptionPage ? adoptionCard : ''}<li><a href="/"><strong>Start page</strong><span>What you can find here</span></a></li>
</ul>`,
    ),
})

const adoptionCard = `<li><a href="/adopt"><strong>Animals for adoption</strong><span>Meet the animals that are looking for a home</span></a></li>
`

/** The same for every client, so it contains a URL only if the operator has set one. */
function content({ environment, publicUrl, hasAdoptionPage }: HomeOptions): string {
  const api = publicUrl === undefined ? '$PETSTORE' : escapeHtml(`${publicUrl}/v1`)
  const needed =
    publicUrl === undefined
      ? 'Set <code>PETSTORE</code> to the base URL, such as <code>http://127.0.0.1:8080/v1</code>, and <code>PETSTORE_KEY</code> to your API key.'
      : 'Set <code>PETSTORE_KEY</code> to your API key.'
  const listCommand = `curl -H "Authorization: Bearer $PETSTORE_KEY" \\
  "${api}/pets?status=available"`
  const addCommand = `curl -H "Authorization: Bearer $PETSTORE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Milo", "categoryId": 3}' \\
  "${api}/pets"`
  return `<h1>Petstore</h1>
<p class="lead">An HTTP/JSON service for browsing and managing animals offered for adoption.</p>
<p class="state">Up, in the ${environment} environment</p>
<ul class="cards">
${hasAdoptionPage ? adoptionCard : ''}<li><a href="/console"><strong>Console</strong><span>Animals, orders, keys and webhooks in the browser</span></a></li>
<li><a href="/docs"><strong>API reference</strong><span>Every operation, with examples to try</span></a></li>
<li><a href="/guides"><strong>Guides</strong><span>Adopting, following changes, keys, limits, errors</span></a></li>
<li><a href="/v1/openapi.json"><strong>OpenAPI 3.1</strong><span>The description of the API, for tools</span></a></li>
</ul>
<h2>Try it</h2>
<p>${needed} List the available animals:</p>
${codeBlock(listCommand)}
<p>Add an animal:</p>
${codeBlock(addCommand)}
<h2>Get a key</h2>
<p>The operator's key was shown once, when the service first started. The operator makes more with <code>POST /v1/keys</code> or on the command line: see <a href="/guides/keys">Keys</a>.</p>
<footer>OpenAPI as <a href="/v1/openapi.json">JSON</a> or <a href="/v1/openapi.yaml">YAML</a>. Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>.</footer>`
}
