import { validationFailed } from '../api/errors.ts'
import type { WebPage } from '../api/router.ts'
import { isRecentlyAdopted, renderAnimalPage } from './animalPage.ts'
import { jsonPath, parseLimit, renderAnimalsJson } from './animalsJson.ts'
import { embedScript, feedPath, icon, iconPath, type Site, stylesheet, stylesheetPath } from './document.ts'
import { renderFeed } from './feed.ts'
import { renderListPage } from './listPage.ts'
import { renderNotice } from './notices.ts'
import { findAnimalPage, findAnimals, findKinds } from './queries.ts'
import { renderRobots, renderSiteMap, siteMapPath } from './siteMap.ts'
import { addressOf, listPath, readId, readView, searchOf, searchProblem } from './view.ts'
import { type AdoptionPage, adoptionFile, adoptionPage, fileHeaders } from './webPage.ts'

const animalsPerPage = 24
const animalsInFeed = 30
const day = 'public, max-age=86400'
const year = 'public, max-age=31536000, immutable'

/** The adoption page and all that belongs to it. */
export const adoptionPages = (site: Site): WebPage[] => [
  ...[list(site), animal(site), json(site), feed(site), siteMap(site), robots(site)].map((page) =>
    adoptionPage(site, page),
  ),
  adoptionFile({
    path: stylesheetPath,
    headers: fileHeaders('text/css; charset=utf-8', year),
    render: () => stylesheet,
  }),
  adoptionFile({ path: iconPath, headers: fileHeaders('image/svg+xml', day), render: () => icon }),
  adoptionFile({
    path: '/adopt/embed.js',
    isPublic: true,
    headers: {
      ...fileHeaders('text/javascript; charset=utf-8', 'public, max-age=3600'),
      'Cross-Origin-Resource-Policy': 'cross-origin',
    },
    render: embedScript,
  }),
]

const emptyPage = { animals: [], hasPrevious: false, hasNext: false }

const list = (site: Site): AdoptionPage => ({
  path: listPath,
  type: 'html',
  // Other addresses of a search are redirected to its only address, which is counted.
  isSearch: (request) => readView(request).isNormal && readView(request).view.q !== undefined,
  keyOf(request) {
    const { view, isNormal } = readView(request)
    return isNormal && view.q === undefined ? searchOf(view) : undefined
  },
  async render(request, { db, now, cached }, store) {
    const { view, isNormal } = readView(request)
    if (!isNormal) return { redirectTo: addressOf(view) }
    const problem = searchProblem(view)
    const [page, kinds] = await Promise.all([
      problem === undefined ? findAnimalPage(db, view, animalsPerPage, now) : emptyPage,
      cached('kinds of animals', () => findKinds(db)),
    ])
    const text = renderListPage({ view, page, kinds, store, site, now, problem })
    return { status: problem === undefined ? 200 : 400, text }
  },
})

const animal = (site: Site): AdoptionPage => ({
  path: `${listPath}/{petId}`,
  type: 'html',
  keyOf: () => '',
  async render(_, { db, now, params: { petId = '' } }, store) {
    const id = readId(petId)
    const [found] = id === undefined ? [] : await findAnimals(db, [id], now)
    if (!found) return { status: 404, text: renderNotice(404, store, site) }
    if (found.pet.status === 'sold' && !isRecentlyAdopted(found, now))
      return { status: 410, text: renderNotice(410, store, site) }
    const others = await findAnimals(db, found.profile.bondedWith, now)
    const bonded = others.filter(({ pet }) => pet.status !== 'sold')
    return { text: renderAnimalPage({ animal: found, bonded, store, site, now }) }
  },
})

const json = ({ publicUrl = '' }: Site): AdoptionPage => ({
  path: jsonPath,
  type: 'json',
  isPublic: true,
  isSearch: (request) => readView(request).view.q !== undefined,
  keyOf(request) {
    const { query, view, wrong } = readView(request)
    const limit = parseLimit(query.get('limit'))
    const isCached = view.q === undefined && wrong.length === 0 && limit !== undefined
    return isCached ? `${limit} ${searchOf(view)}` : undefined
  },
  async render(request, { db, now }, store) {
    const { query, view, wrong } = readView(request)
    const limit = parseLimit(query.get('limit'))
    const problem = searchProblem(view)
    const details = [
      ...wrong.map((path) => ({ path, message: 'is not an allowed value' })),
      ...(problem === undefined ? [] : [{ path: 'q', message: problem }]),
    ]
    if (limit === undefined) details.push({ path: 'limit', message: 'must be a number from 1 to 100' })
    if (limit === undefined || details.length > 0) throw validationFailed(details)
    const page = await findAnimalPage(db, view, limit, now)
    return {
      text: renderAnimalsJson({ view, limit, page, store, publicUrl, now }),
      headers: { 'Cross-Origin-Resource-Policy': 'cross-origin' },
    }
  },
})

const feed = ({ publicUrl }: Site): AdoptionPage => ({
  path: feedPath,
  type: 'atom',
  keyOf: () => '',
  async render(_, { db, now }, store) {
    if (publicUrl === undefined) return undefined
    const { animals } = await findAnimalPage(db, {}, animalsInFeed, now)
    return { text: renderFeed(animals, store, publicUrl, now) }
  },
})

const siteMap = ({ publicUrl }: Site): AdoptionPage => ({
  path: siteMapPath,
  type: 'xml',
  keyOf: (request) => JSON.stringify(readView(request).query.get('part')),
  async render(request, { db }) {
    if (publicUrl === undefined) return undefined
    const text = await renderSiteMap(db, readView(request).query.get('part'), publicUrl)
    return text === undefined ? undefined : { text }
  },
})

const robots = ({ publicUrl }: Site): AdoptionPage => ({
  path: '/robots.txt',
  type: 'text',
  keyOf: () => '',
  render: async () => ({ text: renderRobots(publicUrl) }),
})
