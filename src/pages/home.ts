import type { Environment } from '../config.ts'
import type { Page } from '../http/app.ts'
import { escapeHtml, htmlPage } from './layout.ts'

/** A person's way in, until there is more to show. */
export function homePage(environment: Environment, publicUrl: string | undefined): Page {
  return {
    path: '/',
    serve(request) {
      const base = publicUrl ?? new URL(request.url).origin
      return htmlPage('Petstore', '/', content(environment, escapeHtml(base)))
    },
  }
}

const content = (environment: Environment, base: string) => `<h1>Petstore</h1>
<p class="lead">An HTTP/JSON service for browsing and managing animals offered for adoption.</p>
<p class="state">Up, in the ${environment} environment</p>
<ul class="cards">
<li><a href="/docs"><strong>API reference</strong><span>Every operation, with examples to try</span></a></li>
<li><a href="/guides"><strong>Guides</strong><span>Adopting, following changes, keys, limits, errors</span></a></li>
<li><a href="/v1/openapi.json"><strong>OpenAPI 3.1</strong><span>The description of the API, for tools</span></a></li>
</ul>
<h2>Try it</h2>
<p>With your API key in <code>PETSTORE_KEY</code>, see which animals are available:</p>
<pre tabindex="0"><code>curl -H "Authorization: Bearer $PETSTORE_KEY" \\
  "${base}/v1/pets?status=available"</code></pre>
<p>And add one:</p>
<pre tabindex="0"><code>curl -H "Authorization: Bearer $PETSTORE_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "Milo", "categoryId": 3}' \\
  "${base}/v1/pets"</code></pre>
<h2>Get a key</h2>
<p>The operator's key was shown once, when the service first started. The operator makes more with <code>POST /v1/keys</code> or on the command line: see <a href="/guides/keys">Keys</a>.</p>
<footer>OpenAPI as <a href="/v1/openapi.json">JSON</a> or <a href="/v1/openapi.yaml">YAML</a>. Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>.</footer>`
