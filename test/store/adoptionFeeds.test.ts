import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { insertMany } from '../../src/database/preparedQuery.ts'
import { markup, publicUrl, smallPhoto, useAdoption } from '../support/adoption.ts'
import { eventually } from '../support/eventually.ts'

const { service, call, setStore, add, visit } = useAdoption()
before(() => setStore({ name: 'Second Chance', email: 'hello@shelter.example', adoptionPage: true }))

let luna: number
let milo: number
before(async () => {
  luna = await add({
    name: `Luna ${markup}\u0001`,
    photos: [await smallPhoto()],
    profile: { species: 'dog', sex: 'female', description: 'Likes walks. '.repeat(40), location: 'Kennel 4' },
  })
  milo = await add({ name: 'Milo', status: 'pending', profile: { species: 'cat' } })
  await add({ name: 'Sold', status: 'sold' })
  await add({ name: 'Hidden', profile: { listed: false } })
})

describe('animals.json', () => {
  type Shown = { pet: { id: number } }
  const idsOf = (json: { animals: Shown[] }) => json.animals.map(({ pet }) => pet.id)

  test('has the animals as listings, with addresses, for every origin', async () => {
    const { status, json, text, headers } = await visit('/adopt/animals.json', {
      headers: { origin: 'https://other.example' },
    })
    assert.equal(status, 200)
    assert.equal(headers['access-control-allow-origin'], '*')
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
    assert.deepEqual(idsOf(json), [milo, luna])
    assert.deepEqual([json.url, json.next], [`${publicUrl}/adopt`, null])
    assert.equal(json.store.name, 'Second Chance')
    assert.ok(!('adoptionPage' in json.store))
    const [, animal] = json.animals
    const listing = (await call('GET', '/listings')).find(({ pet }: Shown) => pet.id === luna)
    const { etags: _, ...expected } = listing
    const more = { url: `${publicUrl}/adopt/${luna}`, headline: 'Dog\u00a0· Female' }
    assert.deepEqual(animal, { ...more, ...expected })
    assert.doesNotMatch(text, /Kennel 4|microchip|staffNotes/)
  })

  test('has the filters of the list, and pages', async () => {
    for (const [query, id] of [
      ['species=dog&sex=female', luna],
      ['q=milo&sex=', milo],
    ])
      await eventually(`${query}`, async () => {
        const { status, json } = await visit(`/adopt/animals.json?${query}`)
        return status === 200 && String(idsOf(json)) === String(id)
      })
    const { json } = await visit('/adopt/animals.json?limit=1')
    assert.deepEqual(idsOf(json), [milo])
    assert.equal(json.next, `${publicUrl}/adopt/animals.json?before=${milo}&limit=1`)
    const next = await visit(json.next.slice(publicUrl.length))
    assert.deepEqual([idsOf(next.json), next.json.next], [[luna], null])
  })

  test('rejects what no animal can match', async () => {
    // First the valid request, whose response is cached.
    assert.equal((await visit('/adopt/animals.json')).status, 200)
    for (const query of [
      'sex=x',
      'goodWith=x',
      'limit=0',
      'limit=101',
      'limit=x',
      'limit=null',
      'limit=undefined',
      'before=x',
      'q=a+b+c+d+e+f+g+h+i',
    ]) {
      const { status, json, headers } = await visit(`/adopt/animals.json?${query}`)
      assert.deepEqual([query, status, json.code], [query, 400, 'validation_failed'])
      assert.equal(headers['access-control-allow-origin'], '*')
    }
  })
})

describe('the script for other web sites', () => {
  test('can be loaded from every origin', async () => {
    const { status, headers, text } = await visit('/adopt/embed.js')
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(headers['access-control-allow-origin'], '*')
    assert.equal(headers['cross-origin-resource-policy'], 'cross-origin')
    assert.match(text, /adoptable-animals/)
  })

  test('adds texts as text, and uses no cookie', async () => {
    const { text } = await visit('/adopt/embed.js')
    assert.match(text, /textContent|createTextNode|append/)
    assert.doesNotMatch(
      text,
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|cookie|credentials: 'include'/,
    )
  })

  test('has at most 10 KiB, compressed', async () => {
    const { headers } = await visit('/adopt/embed.js', { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(headers['content-encoding'], 'gzip')
    assert.ok(Number(headers['content-length']) <= 10 * 1024)
  })
})

describe('the feed', () => {
  test('has the newest animals on offer', async () => {
    const { text, headers } = await visit('/adopt/feed.xml')
    assert.equal(headers['content-type'], 'application/atom+xml; charset=utf-8')
    assert.match(
      text,
      /^<\?xml version="1.0" encoding="utf-8"\?>\n<feed xmlns="http:\/\/www.w3.org\/2005\/Atom"/,
    )
    const ids = [...text.matchAll(/<entry>\n.*\n<id>(.*)<\/id>/g)].map(([, id]) => id)
    assert.deepEqual(ids, [`${publicUrl}/adopt/${milo}`, `${publicUrl}/adopt/${luna}`])
    assert.match(text, /<title>Milo \(reserved\)<\/title>/)
    assert.match(
      text,
      /<link rel="enclosure" type="image\/jpeg" href="https:\/\/pets\.example\/photos\/[\w-]{22}\/1600\.jpg"\/>/,
    )
    assert.match(text, /<published>2026-11-15T12:00:00.000Z<\/published>/)
    assert.match(text, /<summary>Dog.* Female\n\nLikes walks\..*…<\/summary>/s)
    assert.ok(!text.includes('\u0001'), 'XML does not allow it')
    assert.doesNotMatch(text, /Sold|Hidden|Kennel/)
  })
})

describe('the site map', () => {
  const locations = (text: string) => [...text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, url]) => url)

  test('has the list and all animals on offer', async () => {
    const { text, headers } = await visit('/adopt/sitemap.xml')
    assert.equal(headers['content-type'], 'application/xml; charset=utf-8')
    assert.match(text, /<urlset xmlns="http:\/\/www.sitemaps.org\/schemas\/sitemap\/0.9">/)
    assert.deepEqual(locations(text), [
      `${publicUrl}/adopt`,
      ...[milo, luna].map((id) => `${publicUrl}/adopt/${id}`),
    ])
    assert.match(text, /<lastmod>2026-11-15T12:00:00.000Z<\/lastmod>/)
  })

  test('of many animals is an index of parts', async () => {
    const database = await service.openDatabase()
    const insert = insertMany('pets', ['id', 'name', 'category_id', 'status'])
    const ids = [...Array.from({ length: 2_001 }, (_, index) => 10_000 + index), 100_000]
    const unlisted = 10_500
    await database.write((trx) =>
      insert(
        trx,
        ids.map((id) => [id, 'Many', 3n, id === 100_000 ? 'pending' : 'available']),
      ),
    )
    await call('PATCH', `/pets/${unlisted}/profile`, { listed: false })
    const index = await eventually('the index', async () => {
      const { text } = await visit('/adopt/sitemap.xml')
      return text.includes('<sitemapindex') && text
    })
    const parts = locations(index)
    assert.deepEqual(
      parts,
      [50, 6, 5, 0].map((part) => `${publicUrl}/adopt/sitemap.xml?part=${part}`),
    )
    const found: (string | undefined)[] = []
    for (const part of parts) {
      const { status, text } = await visit(String(part).slice(publicUrl.length))
      assert.deepEqual([status, locations(text).length > 0], [200, true])
      found.push(...locations(text))
    }
    const listed = ids.filter((id) => id !== unlisted)
    const expected = [...listed.toReversed(), milo, luna].map((id) => `${publicUrl}/adopt/${id}`)
    assert.deepEqual(found, expected)
    for (const part of ['x', '-1', '1e3', '9'.repeat(30)])
      assert.equal((await visit(`/adopt/sitemap.xml?part=${part}`)).status, 404, part)
  })
})

test('robots.txt names the site map and allows photos', async () => {
  const { status, text, headers } = await visit('/robots.txt')
  assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8'])
  assert.match(text, /^User-agent: \*\n/)
  assert.match(text, /\nSitemap: https:\/\/pets\.example\/adopt\/sitemap\.xml\n/)
  assert.doesNotMatch(text, /photos|Disallow: \/\n|Disallow: \/adopt\n/)
})

describe('a service that does not know its address', () => {
  const unknown = useAdoption({ PETSTORE_PUBLIC_URL: '' })

  test('has no absolute addresses, site map and feed', async () => {
    await unknown.setStore({ name: 'Here', adoptionPage: true })
    const id = await unknown.add({ photos: [await smallPhoto()] })
    for (const path of ['/adopt', `/adopt/${id}`]) {
      const { text } = await unknown.visit(path, { headers: { host: 'evil.example' } })
      assert.doesNotMatch(text, /https?:\/\/|evil|canonical|og:url|og:image|feed\.xml/, path)
    }
    for (const path of ['/adopt/feed.xml', '/adopt/sitemap.xml'])
      assert.equal((await unknown.visit(path)).json.code, 'not_found')
    assert.doesNotMatch((await unknown.visit('/robots.txt')).text, /Sitemap/)
    const { json } = await unknown.visit('/adopt/animals.json?limit=1')
    assert.equal(json.animals[0].url, `/adopt/${id}`)
    assert.match(json.animals[0].photos[0].urls[320], /^\/photos\//)
  })
})
