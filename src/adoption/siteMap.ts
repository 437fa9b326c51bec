import { timestamp } from '../clock.ts'
import type { Db } from '../database/db.ts'
import { onOffer } from '../listings/query.ts'
import { type Html, html } from './html.ts'
import { animalPath, listPath } from './view.ts'

export const siteMapPath = `${listPath}/sitemap.xml`

/**
 * With more animals on offer, the site map is an index of parts. A part has the animals of so many ids, so that it can be
 * read without counting those before it. The standard allows 50,000 entries.
 */
const idsPerPart = 2_000
const partsMax = 10_000
const idMax = Number.MAX_SAFE_INTEGER

type Entry = { readonly id: number; readonly updatedAt: number | null }

/** The listed animals on offer with ids in a range, newest first. Of more than a part has, some. */
async function findEntries(db: Db, from: number, through: number): Promise<Entry[]> {
  const found = onOffer.map((status) =>
    db
      .selectFrom('pets')
      .leftJoin('profiles', 'profiles.pet_id', 'pets.id')
      .select(['id', 'updated_at as updatedAt', 'listed'])
      .where(db.dialect.keysetRange('status', status, from, through))
      .limit(idsPerPart + 1)
      .execute(),
  )
  return (await Promise.all(found))
    .flat()
    .filter(({ listed }) => listed !== 0)
    .sort((a, b) => b.id - a.id)
}

/** The parts that have animals on offer, the newest first. */
async function findParts(db: Db): Promise<number[]> {
  const parts = new Set<number>()
  for (const status of onOffer) {
    for (let below = idMax; parts.size < partsMax; ) {
      const pets = db.selectFrom('pets').select('id')
      const [last] = await db.dialect
        .keysetPage(pets, [['status', status]], below)
        .limit(1)
        .execute()
      if (!last) break
      const part = Math.floor(last.id / idsPerPart)
      parts.add(part)
      below = part * idsPerPart
    }
  }
  return [...parts].sort((a, b) => b - a)
}

/** The site map, or a part of it. Undefined if there is no such part. */
export async function renderSiteMap(
  db: Db,
  part: string | null,
  publicUrl: string,
): Promise<string | undefined> {
  if (part !== null) {
    if (!/^\d{1,9}$/.test(part)) return undefined
    const from = Number(part) * idsPerPart
    return urlSet(await findEntries(db, from, from + idsPerPart - 1), publicUrl)
  }
  const entries = await findEntries(db, 0, idMax)
  if (entries.length <= idsPerPart)
    return urlSet(entries, publicUrl, html`<url><loc>${publicUrl}${listPath}</loc></url>\n`)
  const parts = await findParts(db)
  return html`<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${parts.map((number) => html`<sitemap><loc>${publicUrl}${siteMapPath}?part=${number}</loc></sitemap>\n`)}</sitemapindex>
`.text
}

const urlSet = (entries: readonly Entry[], publicUrl: string, first?: Html): string =>
  html`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${first}${entries.map(
  ({ id, updatedAt }) =>
    html`<url><loc>${publicUrl}${animalPath(id)}</loc>${updatedAt !== null && html`<lastmod>${timestamp(updatedAt)}</lastmod>`}</url>\n`,
)}</urlset>
`.text

/** What crawlers should leave alone. They may fetch photos. */
export const renderRobots = (publicUrl: string | undefined): string =>
  `User-agent: *
Disallow: /v1/
Disallow: /console
Disallow: ${listPath}?q=
${publicUrl === undefined ? '' : `\nSitemap: ${publicUrl}${siteMapPath}\n`}`
