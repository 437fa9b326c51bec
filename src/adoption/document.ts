import { etagOf } from '../api/etag.ts'
import { assetUrl, readAsset } from '../assets.ts'
import type { StoreProfile } from '../store/store.ts'
import { type Html, html } from './html.ts'
import { listPath } from './view.ts'

/** The document that all pages share. It has no script, and no style but that of its stylesheet. */

const folder = assetUrl('./adoption/assets/')
const asset = (name: string) => readAsset(new URL(name, folder))

export const stylesheet = ['page', 'parts', 'filters', 'cards', 'animal']
  .map((name) => asset(`${name}.css`))
  .join('\n')
/** With a hash of the content, so that browsers can keep it. */
export const stylesheetPath = `${listPath}/style-${etagOf(stylesheet).slice(1, 13)}.css`
export const icon = asset('icon.svg')
export const iconPath = `${listPath}/icon.svg`
export const feedPath = `${listPath}/feed.xml`
export const embedScript = () => asset('embed.js')

/** What the pages know of the service. */
export type Site = {
  /** The address of the service. Undefined if the operator has not set one: then there are no absolute addresses. */
  readonly publicUrl: string | undefined
  readonly isStaging: boolean
}

export type SharedImage = { readonly url: string; readonly width: number; readonly height: number }

type DocumentOptions = {
  readonly title: string
  /** For search engines and shared links. */
  readonly description?: string | undefined
  /** The path and query of the page, if search engines may show it. */
  readonly canonical?: string | undefined
  readonly image?: SharedImage | undefined
  readonly store: StoreProfile
  readonly site: Site
  readonly main: Html
}

export const storeName = ({ name }: Pick<StoreProfile, 'name'>): string => name ?? 'Animals for adoption'

export function renderDocument(options: DocumentOptions): string {
  const { title, store, site, main } = options
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${site.isStaging && 'Staging: '}${title}</title>
${metadata(options)}
<link rel="stylesheet" href="${stylesheetPath}">
<link rel="icon" href="${iconPath}" type="image/svg+xml">
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
${site.isStaging && html`<p class="staging"><strong>Staging.</strong> These animals are examples.</p>`}
<header class="top"><a class="brand" href="${listPath}">${paw}<span dir="auto">${storeName(store)}</span></a>${hasContact(store) && html`<a class="quiet" href="#contact">Contact</a>`}</header>
<main id="content" tabindex="-1">
${main}
</main>
${footer(store)}
</body>
</html>
`
  return document.text
}

function metadata({ title, description, canonical, image, store, site }: DocumentOptions): Html {
  const { publicUrl, isStaging } = site
  const isIndexed = canonical !== undefined && !isStaging
  return html`${description && html`<meta name="description" content="${description}">`}
${!isIndexed && html`<meta name="robots" content="noindex">`}
${
  publicUrl !== undefined &&
  html`${
    canonical !== undefined &&
    html`<link rel="canonical" href="${publicUrl}${canonical}">
<meta property="og:url" content="${publicUrl}${canonical}">`
  }
<link rel="alternate" type="application/atom+xml" title="${storeName(store)}" href="${publicUrl}${feedPath}">`
}
<meta property="og:type" content="website">
<meta property="og:site_name" content="${storeName(store)}">
<meta property="og:title" content="${title}">
${description && html`<meta property="og:description" content="${description}">`}
${
  publicUrl !== undefined &&
  image &&
  html`<meta property="og:image" content="${publicUrl}${image.url}">
<meta property="og:image:width" content="${image.width}">
<meta property="og:image:height" content="${image.height}">
<meta name="twitter:card" content="summary_large_image">`
}
${(publicUrl === undefined || !image) && html`<meta name="twitter:card" content="summary">`}`
}

/** A paw. */
export const paw = html`<svg class="paw" viewBox="0 0 24 24" aria-hidden="true"><ellipse cx="5" cy="11" rx="2.3" ry="3"/><ellipse cx="9.4" cy="6" rx="2.4" ry="3.3"/><ellipse cx="14.6" cy="6" rx="2.4" ry="3.3"/><ellipse cx="19" cy="11" rx="2.3" ry="3"/><path d="M12 11.5c-3.2 0-6 3.6-6 6.2 0 2 1.6 2.8 3.2 2.8 1.2 0 1.9-.5 2.8-.5s1.6.5 2.8.5c1.6 0 3.2-.8 3.2-2.8 0-2.6-2.8-6.2-6-6.2z"/></svg>`

export const hasContact = ({ phone, email, url, address }: StoreProfile) =>
  Boolean(phone ?? email ?? url ?? address)

/** Who the store is, and how to reach it. */
function footer(store: StoreProfile): Html {
  const { name, about, phone, email, url, address } = store
  const tel = telOf(phone ?? '')
  if (!hasContact(store) && about === null) return html`<footer class="bottom" id="contact"></footer>`
  return html`<footer class="bottom" id="contact">
<div class="about"><h2 dir="auto">${name ?? 'About us'}</h2>${about !== null && paragraphs(about)}</div>
${
  hasContact(store) &&
  html`<address>
${phone !== null && html`<p>${label('Phone')}${tel === undefined ? phone : html`<a href="${tel}">${phone}</a>`}</p>`}
${email !== null && html`<p>${label('E-mail')}<a href="mailto:${email}">${email}</a></p>`}
${url !== null && html`<p>${label('Web site')}${httpsLink(url, siteName(url))}</p>`}
${address !== null && html`<p>${label('Address')}<span class="lines" dir="auto">${address}</span></p>`}
</address>`
}
</footer>`
}

const label = (text: string) => html`<span class="label">${text}</span>`

/** The address of the first number in a text. Undefined if there is none. */
export function telOf(phone: string): string | undefined {
  const [first = ''] = phone.split(/\s\/|\/\s|[,;]/)
  const number = /\+?\d[\d\s()./-]*/.exec(first)?.[0].replace(/[^+\d]/g, '')
  return number && `tel:${number}`
}

/** For addresses that staff typed. Only https addresses are stored. */
export const externalLink = html` rel="noopener nofollow"`
export const httpsLink = (url: string, text: string): Html =>
  html`<a href="${url}"${externalLink}>${text}</a>`

const siteName = (url: string): string => url.replace(/^https:\/\/(?:www\.)?/, '').replace(/\/$/, '')

/** Text of people, with its paragraphs and lines. */
export const paragraphs = (text: string): Html =>
  html`${text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => html`<p class="lines" dir="auto">${paragraph.trim()}</p>\n`)}`
