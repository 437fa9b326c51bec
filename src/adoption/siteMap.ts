import { type RawBuilder, sql } from 'kysely'
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

/** The listed animals on offer with ids in a range, newest first. Undefined if there are more than in a part. */
async function findEntries(db: Db, from: number, through: number): Promise<Entry[] | undefined> {
  const found = onOffer.map((status) =>
    db
      .selectFrom('pets')
      .leftJoin('profiles', 'profiles.pet_id', 'pets.id')
      .select(['id', 'updated_at as updatedAt', 'listed'])
      .where(db.dialect.keysetRange('status', status, from, through))
      .limit(idsPerPart + 1)
      .execute(),
  )
  const rows = await Promise.all(found)
  if (rows.some(({ length }) => length > idsPerPart)) return undefined
  return rows
    .flat()
    .filter(({ listed }) => listed !== 0)
    .sort((a, b) => b.id - a.id)
}

/** The parts that have animals on offer, the newest first. */
async function findParts(db: Db): Promise<number[]> {
  const size = sql.lit(idsPerPart)
  const found = onOffer.map((status) => {
    const lastBelow = (bound: number | RawBuilder<number>) =>
      db.dialect.keysetPage(db.selectFrom('pets').select('id'), [['status', status]], bound).limit(1)
    // Each step goes to the last animal before the part that was found.
    return sql<{ part: number }>`
      WITH RECURSIVE parts (part) AS (
        SELECT (${lastBelow(idMax)}) / ${size}
        UNION ALL
        SELECT (${lastBelow(sql<number>`part * ${size}`)}) / ${size} FROM parts WHERE part IS NOT NULL
      )
      SELECT part FROM parts WHERE part IS NOT NULL LIMIT ${sql.lit(partsMax)}`.execute(db)
  })
  const parts = (await Promise.all(found)).flatMap(({ rows }) => rows.map(({ part }) => part))
  return [...new Set(parts)].sort((a, b) => b - a).slice(0, partsMax)
}

/** The site map, or a part of it. Undefined if the number of the part is wrong. */
export async function renderSiteMap(
  db: Db,
  part: string | null,
  publicUrl: string,
): Promise<string | undefined> {
  if (part !== null) {
    if (!/^\d{1,9}$/.test(part)) return undefined
    const from = Number(part) * idsPerPart
    return urlSet((await findEntries(db, from, from + idsPerPart - 1)) ?? [], publicUrl)
  }
  const entries = await findEntries(db, 0, idMax)
  if (entries) return urlSet(entries, publicUrl, html`<url><loc>${publicUrl}${listPath}</loc></url>\n`)
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
