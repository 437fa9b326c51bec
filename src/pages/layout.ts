import type { Environment } from '../config.ts'

/** The layout of all pages: one small script, which they work without, and no external resource. */

const barHeightRem = 3.5
const bannerHeightRem = 1.75

/** The height of the header, which stays at the top. */
export const headerHeightRem = (environment: Environment): number =>
  barHeightRem + (environment === 'staging' ? bannerHeightRem : 0)

export type ColourMode = 'light' | 'dark'

/** The same as in console/src/styles/tokens.css. */
export const colours = {
  ink: { light: '#1b2226', dark: '#e7ebed' },
  soft: { light: '#55616a', dark: '#a3aeb5' },
  line: { light: '#e3e6e7', dark: '#2b3337' },
  paper: { light: '#f7f7f5', dark: '#121617' },
  card: { light: '#ffffff', dark: '#191e20' },
  accent: { light: '#0b6e4f', dark: '#62cba4' },
  code: { light: '#eceff0', dark: '#20272a' },
}

const variables = (mode: ColourMode) =>
  Object.entries(colours)
    .map(([name, colour]) => `--${name}: ${colour[mode]}`)
    .join('; ')
const colourStyle = `
:root { color-scheme: light dark; ${variables('light')} }
@media (prefers-color-scheme: dark) { :root { ${variables('dark')} } }
:root[data-theme="light"] { color-scheme: light; ${variables('light')} }
:root[data-theme="dark"] { color-scheme: dark; ${variables('dark')} }
`

/** For screen readers only. */
const hiddenStyle =
  'position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%)'

/** The navigation bar, also on the API reference: it styles nothing else on a page. */
const barStyle = `
.bar { position: sticky; top: 0; z-index: 10; box-shadow: inset 0 -1px var(--line); background: var(--card); color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
.bar aside { box-sizing: border-box; height: ${bannerHeightRem}rem; padding: 0 1rem; background: #f2b33d; color: #2b1b00; font-size: .8125rem; line-height: ${bannerHeightRem}rem; text-align: center; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
.bar aside strong { letter-spacing: .08em; text-transform: uppercase }
.bar nav { box-sizing: border-box; height: ${barHeightRem}rem; display: flex; align-items: center; gap: 1.5rem; padding: 0 1.25rem }
.bar a { color: var(--soft); text-decoration: none; font-size: .95rem; padding: .4rem 0 }
.bar a:hover, .bar a[aria-current] { color: var(--ink) }
.bar a[aria-current] { box-shadow: 0 2px var(--accent) }
.bar a.home { display: flex; align-items: center; gap: .55rem; margin-right: auto; color: var(--ink); font-weight: 650; font-size: 1.05rem }
.bar a.home[aria-current] { box-shadow: none }
.bar svg { width: 1.5rem; height: 1.5rem; fill: var(--accent) }
.bar a:focus-visible, .skip:focus { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 3px }
@media (max-width: 30rem) { .bar nav { gap: .9rem; padding: 0 1rem } .bar a { font-size: .9rem } .bar a.home { gap: .4rem; font-size: 1rem } }
@media (max-width: 24rem) { .bar a.home span { ${hiddenStyle} } }
.skip { position: absolute; left: -999rem }
.skip:focus { left: 1rem; top: 1rem; z-index: 11; padding: .5rem .75rem; background: var(--card); color: var(--accent) }
`

const pageStyle = (environment: Environment) => `
* { box-sizing: border-box }
html { scroll-padding-top: ${headerHeightRem(environment) + 1}rem; -webkit-text-size-adjust: 100% }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word }
.bar nav, main { max-width: 50rem; margin: 0 auto }
main { padding: 3rem 1.25rem 5rem }
h1, h2, h3 { line-height: 1.25; text-wrap: balance }
h1 { font-size: clamp(1.9rem, 1.5rem + 2vw, 2.4rem); letter-spacing: -.02em; margin: 0 0 .75rem }
h2 { font-size: 1.35rem; letter-spacing: -.01em; margin: 3rem 0 .75rem }
h3 { font-size: 1.08rem; margin: 2rem 0 .5rem }
p, ul, ol { margin: 0 0 1rem }
li { margin: .2rem 0 }
p.lead { font-size: 1.2rem; line-height: 1.5; color: var(--soft); margin: 0 0 1.5rem; text-wrap: pretty }
p.state { display: inline-flex; align-items: center; gap: .5rem; margin: 0 0 2.5rem; padding: .2rem .8rem; border: 1px solid var(--line); border-radius: 2rem; background: var(--card); font-size: .9rem }
p.state::before { content: ""; width: .55rem; height: .55rem; border-radius: 50%; background: var(--accent) }
a { color: var(--accent); text-underline-offset: .15em; text-decoration-thickness: 1px }
a:hover { text-decoration-thickness: 2px }
a:focus-visible, pre:focus-visible, button:focus-visible, summary:focus-visible, .wide:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 3px }
code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em }
:not(pre) > code { background: var(--code); border-radius: 4px; padding: .12em .35em; -webkit-box-decoration-break: clone; box-decoration-break: clone }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 8px; margin: 0 0 1.25rem; padding: .9rem 1.1rem; overflow-x: auto; font-size: .84rem; line-height: 1.6; tab-size: 2 }
pre code { font-size: 1em }
.code { position: relative; margin: 0 0 1.25rem }
.code pre { margin: 0 }
.code button { position: absolute; top: .45rem; right: .45rem; min-width: 4.25rem; min-height: 1.9rem; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: var(--ink); font: inherit; font-size: .8125rem; line-height: 1; cursor: pointer }
.code button:hover { border-color: var(--accent) }
.code button + pre { padding-top: 2.75rem }
@media (hover: hover) and (min-width: 40rem) {
  .code button + pre { padding-top: .9rem }
  .code:not(:hover, :focus-within) button { opacity: 0 }
}
.announcement { ${hiddenStyle} }
.wide { overflow-x: auto; margin: 0 0 1.25rem }
table { border-collapse: collapse; min-width: 100%; font-size: .95rem; line-height: 1.5 }
th, td { text-align: left; vertical-align: top; padding: .55rem 1.25rem .55rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600; font-size: .9rem }
td:first-child code { white-space: nowrap }
ul.cards { list-style: none; padding: 0; margin: 0; display: grid; gap: .85rem; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)) }
h1 + ul.cards { margin-top: 1.5rem }
ul.cards li { margin: 0 }
ul.cards a { display: block; height: 100%; background: var(--card); border: 1px solid var(--line); border-radius: 12px; box-shadow: 0 1px 2px rgb(20 30 35 / 6%); padding: 1rem 1.15rem; text-decoration: none; color: inherit }
ul.cards a:hover { border-color: var(--accent) }
ul.cards strong { display: block; color: var(--accent) }
ul.cards span { display: block; color: var(--soft); font-size: .92rem; line-height: 1.45; margin-top: .2rem }
.toc { margin: 0 0 2rem; font-size: .95rem }
.toc ul { list-style: none; margin: 0; padding: 0 }
.toc li { margin: 0 }
.toc li.sub { padding-left: 1rem }
.toc a { display: block; padding: .3rem 0; text-decoration: none; line-height: 1.35 }
.toc a:hover { text-decoration: underline }
details.toc { padding: .6rem 1.1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card) }
details.toc summary { cursor: pointer; font-weight: 600 }
details.toc[open] summary { margin-bottom: .35rem }
.toc.beside { display: none }
@media (min-width: 80rem) {
  details.toc { display: none }
  .toc.beside { display: block; position: fixed; top: ${headerHeightRem(environment)}rem; bottom: 0; left: calc(50% + 25.5rem); width: min(15rem, 50% - 26.5rem); padding: 3rem 0 1.5rem; overflow-y: auto; font-size: .875rem }
  .toc.beside p { margin: 0 0 .4rem; font-weight: 600 }
  .toc.beside a { color: var(--soft) }
  .toc.beside a:hover { color: var(--accent) }
}
.previous-next { display: flex; flex-wrap: wrap; gap: .85rem; margin-top: 4rem; padding-top: 1.5rem; border-top: 1px solid var(--line) }
.previous-next a { flex: 0 1 auto; padding: .3rem 0; font-weight: 600; text-decoration: none }
.previous-next a:hover { text-decoration: underline }
.previous-next a[rel="next"] { margin-left: auto; text-align: right }
.previous-next span { display: block; color: var(--soft); font-weight: 400; font-size: .875rem }
footer { margin-top: 4rem; padding-top: 1.25rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .92rem }
@media (max-width: 30rem) { main { padding-top: 2rem } }
`

const policy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** A paw as SVG: not every system font has the glyph. */
const pawShapes =
  "<ellipse cx='5' cy='11' rx='2.3' ry='3'/><ellipse cx='9.4' cy='6' rx='2.4' ry='3.3'/><ellipse cx='14.6' cy='6' rx='2.4' ry='3.3'/><ellipse cx='19' cy='11' rx='2.3' ry='3'/><path d='M12 11.5c-3.2 0-6 3.6-6 6.2 0 2 1.6 2.8 3.2 2.8 1.2 0 1.9-.5 2.8-.5s1.6.5 2.8.5c1.6 0 3.2-.8 3.2-2.8 0-2.6-2.8-6.2-6-6.2z'/>"
const icon = encodeURIComponent(
  `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='${colours.accent.light}'>${pawShapes}</svg>`,
)

const sections = { '/console': 'Console', '/docs': 'Reference', '/guides': 'Guides' } as const
/** Undefined for a page of none. */
type Section = '/' | keyof typeof sections | undefined

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** A block of code, to which the script adds a button that copies it. It can be focused and scrolled with the keyboard. */
export const codeBlock = (html: string): string =>
  `<div class="code"><pre tabindex="0"><code>${html}</code></pre></div>`

/** See copyScript.ts. */
export const copyScriptPath = '/guides/copy.js'

const banner =
  '<aside aria-label="Environment"><strong>Staging</strong> This is not the production store.</aside>'

/** The beginning of every page, including the navigation bar. */
export function pageHeadHtml(environment: Environment, title: string, section: Section, style: string) {
  const isStaging = environment === 'staging'
  const here = (path: string) => (path === section ? ' aria-current="page"' : '')
  const links = Object.entries(sections).map(([path, name]) => `<a href="${path}"${here(path)}>${name}</a>`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${isStaging ? 'Staging: ' : ''}${escapeHtml(title)}</title>
<link rel="icon" href="data:image/svg+xml,${icon}">
<style>${colourStyle}${barStyle}${style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<div class="bar">${isStaging ? banner : ''}<nav aria-label="Petstore"><a class="home" href="/"${here('/')}><svg viewBox="0 0 24 24" aria-hidden="true">${pawShapes}</svg><span>Petstore</span></a>${links.join('')}</nav></div>`
}

export const htmlPage = (environment: Environment, title: string, section: Section, content: string) =>
  `${pageHeadHtml(environment, section === '/' ? title : `${title} - Petstore`, section, pageStyle(environment))}
<main id="content">
${content}
</main>
<script src="${copyScriptPath}" defer></script>
</body>
</html>
`

export const pageHeaders = (contentType: string, contentPolicy = policy): Record<string, string> => ({
  'Content-Type': contentType,
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': contentPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
})

export const htmlHeaders = pageHeaders('text/html; charset=utf-8')
export const scriptHeaders = pageHeaders('text/javascript; charset=utf-8')
