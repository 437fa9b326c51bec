import type { Environment } from '../config.ts'
import type { Page } from '../http/app.ts'
import { escapeHtml, htmlPage } from './layout.ts'

/** A person's way in, until there is more to show. */
export function homePage(environment: Environment, publicUrl: string | undefined): Page {
  return {
    path: '/',
    serve(request) {
      const base = publicUrl ?? new URL(request.url).origin
      return htmlPage('Petstore', content(environment, escapeHtml(base)))
    },
  }
}

const content = (environment: Environment, base: string) => `<main>
<h1>Petstore</h1>
<p class="lead">An HTTP/JSON service for browsing and managing animals offered for adoption. It is up, and this is its ${environment} environment.</p>
<ul class="cards">
<li><a href="/docs"><strong>API reference</strong><span>Every operation, with examples</span></a></li>
<li><a href="/guides"><strong>Guides</strong><span>Keys, limits, paging, retries, errors</span></a></li>
<li><a href="/v1/openapi.json"><strong>OpenAPI 3.1</strong><span>The description, as <code>openapi.json</code></span></a></li>
<li><a href="/v1/openapi.yaml"><strong>OpenAPI 3.1</strong><span>The same, as <code>openapi.yaml</code></span></a></li>
</ul>
<h2>Try it</h2>
<p>With your API key in <code>$PETSTORE_KEY</code>:</p>
<pre><code>curl -H "Authorization: Bearer $PETSTORE_KEY" "${base}/v1/pets?status=available"</code></pre>
<p>The operator's key was shown once, when the service first started. The operator makes more with <code>POST /v1/keys</code> or on the command line: see <a href="/guides/keys">Keys</a>.</p>
<footer>Health: <a href="/healthz">/healthz</a>, <a href="/readyz">/readyz</a>.</footer>
</main>`
