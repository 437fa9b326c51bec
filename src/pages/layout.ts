/** The frame of the pages: no script, no request to anywhere else. */

const style = `
:root { color-scheme: light dark; --ink: #1d2327; --soft: #5b6670; --line: #dfe3e6; --paper: #fbfaf8; --card: #fff; --accent: #0b6e4f; --code: #f1f3f2 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ecee; --soft: #a3adb4; --line: #30383d; --paper: #14181a; --card: #1b2124; --accent: #5cc79f; --code: #232a2e } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 17px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem 5rem }
h1 { font-size: 2.1rem; line-height: 1.2; letter-spacing: -.02em; margin: 0 0 .75rem }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem }
p.lead { font-size: 1.15rem; color: var(--soft); margin: 0 0 2rem }
a { color: var(--accent) }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; overflow-x: auto; font-size: .88rem; line-height: 1.5 }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .9em }
:not(pre) > code { background: var(--code); border-radius: 4px; padding: .1em .3em }
table { border-collapse: collapse; width: 100%; font-size: .95rem; display: block; overflow-x: auto }
th, td { text-align: left; vertical-align: top; padding: .45rem .9rem .45rem 0; border-bottom: 1px solid var(--line) }
ul.cards { list-style: none; padding: 0; display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)) }
ul.cards a { display: block; height: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1.1rem; text-decoration: none; color: inherit }
ul.cards a:hover, ul.cards a:focus-visible { border-color: var(--accent) }
ul.cards strong { display: block; color: var(--accent) }
ul.cards span { color: var(--soft); font-size: .92rem }
footer, nav { color: var(--soft); font-size: .9rem }
footer { margin-top: 3rem }
`

const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export function htmlPage(title: string, content: string, contentPolicy = policy): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 100'><text y='.9em' font-size='90'>🐾</text></svg>">
<style>${style}</style>
</head>
<body>
${content}
</body>
</html>
`
  return new Response(html, { headers: pageHeaders('text/html; charset=utf-8', contentPolicy) })
}

export const pageHeaders = (contentType: string, contentPolicy = policy): Record<string, string> => ({
  'Content-Type': contentType,
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': contentPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
})
