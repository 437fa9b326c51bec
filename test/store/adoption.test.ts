import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { markup, shownIds, smallPhoto, useAdoption } from '../support/adoption.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import { openRawConnection } from '../support/rawConnection.ts'

const policy =
  "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; frame-ancestors 'none'"
const store = { name: 'Second Chance', phone: '+1 (555) 010-0199', email: 'hello@shelter.example' }
const { service, call, setStore, add, visit, finds } = useAdoption()

const everyPath = [
  ...['/adopt', '/adopt/1', '/adopt/animals.json', '/adopt/embed.js', '/adopt/feed.xml'],
  ...['/adopt/sitemap.xml', '/adopt/icon.svg', '/robots.txt'],
]

describe('the adoption page that is turned off', () => {
  test('does not exist: its paths are like unknown ones', async () => {
    const id = await add()
    const unknown = await visit('/unknown')
    assert.equal(unknown.status, 404)
    for (const path of [...everyPath, `/adopt/${id}`, '/adopt?q=luna', '/adopt?sex=', '/adopt/'])
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
        const { status, text, headers } = await visit(path, { method })
        assert.deepEqual(
          [method, path, status, text, headers.allow],
          [method, path, 404, unknown.text, undefined],
        )
      }
    await call('DELETE', `/pets/${id}`)
  })

  test('appears and disappears at once when it is turned on and off', async () => {
    for (const [isOn, status] of [
      [true, 200],
      [false, 404],
      [true, 200],
    ] as const) {
      await setStore({ adoptionPage: isOn })
      assert.equal((await visit('/adopt')).status, status)
      assert.equal((await visit('/adopt/embed.js')).status, status)
      assert.equal((await visit('/adopt', { method: 'POST' })).status, isOn ? 405 : 404)
      assert.equal((await visit('/adopt/embed.js', { method: 'OPTIONS' })).status, isOn ? 204 : 404)
    }
  })
})

test('the start page and the page of an unknown path link to it first, while it is on', async () => {
  const headers = { accept: 'text/html' }
  for (const [isOn, first] of [
    [true, '/adopt'],
    [false, '/console'],
    [true, '/adopt'],
  ] as const) {
    await setStore({ adoptionPage: isOn })
    const home = await visit('/', { headers })
    const unknown = await visit('/none', { headers })
    const linksOf = (text: string) => [...text.matchAll(/<li><a href="([^"]+)">/g)].map(([, href]) => href)
    assert.deepEqual([home.status, linksOf(home.text)[0]], [200, first])
    assert.deepEqual([unknown.status, linksOf(unknown.text)], [404, isOn ? ['/adopt', '/'] : ['/']])
    const again = await visit('/', { headers: { 'if-none-match': String(home.headers.etag) } })
    assert.equal(again.status, 304)
  }
})

describe('the list of animals', () => {
  before(async () => {
    await setStore({ ...store, adoptionPage: true })
  })

  test('says that there are none, and how to reach the store', async () => {
    const { status, text } = await visit('/adopt')
    assert.equal(status, 200)
    assert.match(text, /Every animal has a home right now/)
    assert.match(text, /href="tel:\+15550100199"/)
    assert.match(text, /href="mailto:hello@shelter\.example"/)
    assert.doesNotMatch(text, /<form/)
  })

  test('shows listed animals on offer, newest first, with their photos as far as they are needed', async () => {
    const ids = [
      await add({ photos: [await jpeg(900, 600), await smallPhoto()] }),
      await add({ name: 'Reserved one', status: 'pending' }),
    ]
    const hidden = [
      await add({ name: 'Sold one', status: 'sold' }),
      await add({ name: 'Unlisted one', profile: { listed: false } }),
    ]
    const { text, headers } = await visit('/adopt')
    assert.deepEqual(shownIds(text), ids.toReversed())
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(text, /2 animals at Second Chance hope to meet you/)
    assert.equal(text.match(/class="badge">Reserved</g)?.length, 1)
    assert.doesNotMatch(text, /Sold one|Unlisted one/)
    const photo =
      /<rect width="100%" height="100%" fill="#[0-9a-f]{6}"\/><\/svg><img src="\/photos\/[\w-]{22}\/640.webp" srcset="\/photos\/[\w-]{22}\/320.webp 320w, \/photos\/[\w-]{22}\/640.webp 640w, \/photos\/[\w-]{22}\/1600.webp 900w" sizes="[^"]+" width="900" height="600" alt=""/
    assert.match(text, photo)
    assert.doesNotMatch(text, /<script|style=|https?:\/\/(?!pets\.example|www\.w3\.org)/)
    for (const id of [...ids, ...hidden]) await call('DELETE', `/pets/${id}`)
  })

  test('shows texts of people as text', async () => {
    await setStore({ ...store, name: markup.slice(0, 100), about: markup, address: markup.slice(0, 100) })
    const id = await add({ name: markup, profile: { species: markup.slice(0, 30), breeds: [markup] } })
    const pages = [
      '/adopt',
      `/adopt/${id}`,
      `/adopt?q=${encodeURIComponent(markup)}`,
      `/adopt?species=${encodeURIComponent(markup.slice(0, 30))}`,
      '/adopt/feed.xml',
    ]
    for (const path of pages) {
      const { text } = await visit(path)
      assert.match(text, /&lt;script&gt;/, path)
      assert.doesNotMatch(text, /<script|<img src=x|"><img src=x/, path)
    }
    await setStore({ ...store, about: null, address: null })
    await call('DELETE', `/pets/${id}`)
  })

  test('is filtered by kind, sex, size, age, companions and words', async () => {
    const profile = {
      ...{ species: 'dog', sex: 'female', size: 'large', ageGroup: 'senior', description: 'A xylophone.' },
      goodWith: { children: 'yes', dogs: 'yes', cats: 'no' },
    }
    const dog = await add({ profile })
    const cat = await add({ profile: { species: 'cat', sex: 'male', goodWith: { children: 'yes' } } })
    await finds('/adopt?species=dog', [dog])
    await finds('/adopt?goodWith=children', [cat, dog])
    for (const query of [
      'sex=female',
      'size=large',
      'ageGroup=senior',
      'goodWith=children&goodWith=dogs',
      'q=xylo',
      'q=xylophone&species=dog&sex=female&size=large&ageGroup=senior&goodWith=children',
    ])
      assert.deepEqual(shownIds((await visit(`/adopt?${query}`)).text), [dog], query)
    const { status, text } = await visit('/adopt?species=dog&sex=male&goodWith=cats')
    assert.deepEqual([status, shownIds(text)], [200, []])
    assert.match(text, /No animal matches/)
    // Each filter can be removed, and the others stay.
    for (const href of [
      '/adopt?species=dog&amp;goodWith=cats',
      '/adopt?species=dog&amp;sex=male',
      '/adopt?sex=male&amp;goodWith=cats',
      '/adopt',
    ])
      assert.ok(text.includes(`href="${href}"`), href)
    assert.match(text, /<option value="male" selected>/)
    assert.match(text, /name="goodWith" value="cats" checked/)
    assert.match(text, /name="species" value="dog"/)
    // The kinds that there are, and that of the view.
    const kinds =
      /<nav class="kinds".*?<\/nav>/s.exec((await visit('/adopt?species=unicorn')).text)?.[0] ?? ''
    assert.deepEqual(
      [...kinds.matchAll(/>(\w+)<\/a>/g)].map(([, name]) => name),
      [...['All', 'Cat', 'Dog', 'Unicorn']],
    )
    for (const id of [dog, cat]) await call('DELETE', `/pets/${id}`)
  })

  test('has one address for each view: others are redirected to it, or ignored', async () => {
    for (const [given, address] of [
      ['q=&sex=&size=&ageGroup=&species=dog', '/adopt?species=dog'],
      ['species=+Dog+', '/adopt?species=dog'],
      ['sex=other', '/adopt'],
      ['goodWith=cats&goodWith=dogs&goodWith=cats&goodWith=x', '/adopt?goodWith=dogs&goodWith=cats'],
      ['before=x', '/adopt'],
      ['before=0', '/adopt'],
      ['before=99999999999999999999', '/adopt'],
      ['before=5&after=3', '/adopt?before=5'],
      [`species=${'x'.repeat(41)}`, '/adopt'],
      ['q=%20a%20%20b%20', '/adopt?q=a+b'],
    ] as const) {
      const { status, headers } = await visit(`/adopt?${given}`)
      assert.deepEqual([given, status, headers.location], [given, 302, address])
      assert.equal((await visit(address)).status, 200, address)
    }
    assert.equal((await visit('/adopt?q=%FF%00')).status, 200)
    const orders = ['species=dog&sex=female', 'sex=female&species=dog'].map((query) =>
      visit(`/adopt?${query}`),
    )
    const [first, second] = await Promise.all(orders)
    assert.deepEqual([first?.status, first?.text], [200, second?.text])
    const { status, text } = await visit('/adopt?utm_source=x&%00=%')
    assert.deepEqual([status, text], [200, (await visit('/adopt')).text])
  })

  test('does not say that there are no animals beyond the last page', async () => {
    const id = await add()
    const { status, text } = await visit('/adopt?before=1')
    assert.deepEqual([status, /No animal matches/.test(text)], [200, true])
    assert.match(text, /rel="prev" href="\/adopt"/)
    await call('DELETE', `/pets/${id}`)
  })

  test('says what is wrong with words that cannot be searched for', async () => {
    for (const q of ['a b c d e f g h i', 'x'.repeat(201)]) {
      const { status, text } = await visit(`/adopt?q=${encodeURIComponent(q).replaceAll('%20', '+')}`)
      assert.equal(status, 400)
      assert.match(text, /A search must have at most (8 words|200 characters)/)
      assert.ok(text.includes(`value="${q}"`))
    }
  })

  test('has links to the next and the previous page, with and without filters', async () => {
    const ids: number[] = []
    for (let count = 0; count < 60; count++)
      ids.unshift(await add({ name: `Pet ${count}`, status: count % 5 === 0 ? 'pending' : 'available' }))
    const old = ids.slice(0, 59)
    // The newest last: when the index has them, it has all.
    for (const id of old.toReversed()) await call('PATCH', `/pets/${id}/profile`, { species: 'dog' })
    await finds('/adopt?species=dog', old.slice(0, 24))
    const link = (text: string, rel: string) =>
      new RegExp(`rel="${rel}" href="([^"]+)"`).exec(text)?.[1]?.replaceAll('&amp;', '&')
    for (const [path, all] of [
      ['/adopt', ids],
      ['/adopt?species=dog', old],
    ] as const) {
      const first = await visit(path)
      assert.equal(link(first.text, 'prev'), undefined)
      const second = await visit(String(link(first.text, 'next')))
      const third = await visit(String(link(second.text, 'next')))
      const shown = [first, second, third].map(({ text }) => shownIds(text))
      assert.deepEqual(shown, [all.slice(0, 24), all.slice(24, 48), all.slice(48)])
      assert.equal(link(third.text, 'next'), undefined)
      const back = await visit(String(link(third.text, 'prev')))
      assert.deepEqual(shownIds(back.text), all.slice(24, 48))
      const start = await visit(String(link(back.text, 'prev')))
      assert.deepEqual(shownIds(start.text), all.slice(0, 24))
      assert.equal(link(start.text, 'prev'), undefined)
      assert.ok(link(start.text, 'next'))
      // Fewer than a page are above it.
      const near = await visit(`${path}${path.includes('?') ? '&' : '?'}after=${all[10]}`)
      assert.deepEqual(shownIds(near.text), all.slice(0, 24))
    }
    for (const id of ids) await call('DELETE', `/pets/${id}`)
  })
})

describe('a response of the adoption page', () => {
  test('has the headers that protect it, and can be kept for a minute', async () => {
    const id = await add()
    for (const path of ['/adopt', `/adopt/${id}`, '/adopt?q=a', '/adopt/animals.json']) {
      const { headers } = await visit(path)
      assert.equal(headers['content-security-policy'], policy, path)
      assert.equal(headers['cache-control'], 'public, max-age=60', path)
      assert.equal(headers['x-content-type-options'], 'nosniff', path)
      assert.equal(headers.vary, 'Accept-Encoding', path)
      assert.match(String(headers.etag), /^"[^"]+"$/, path)
      assert.equal(headers['set-cookie'], undefined, path)
      assert.equal(headers['x-ratelimit-limit'], undefined, path)
    }
    const { headers } = await visit('/adopt')
    const known = await visit('/adopt', { headers: { 'if-none-match': String(headers.etag) } })
    assert.deepEqual([known.status, known.text], [304, ''])
    const head = await visit('/adopt', { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.equal(head.headers['content-length'], headers['content-length'])
    assert.equal((await visit('/adopt', { method: 'POST' })).status, 405)
    await call('DELETE', `/pets/${id}`)
  })

  test('is compressed for browsers, with another ETag', async () => {
    const plain = await visit('/adopt')
    const lines = 'Host: petstore\r\nAccept-Encoding: gzip, br\r\nX-Forwarded-For: 192.0.2.7\r\n'
    const connection = await openRawConnection(service.base, `GET /adopt HTTP/1.1\r\n${lines}\r\n`)
    const { head, body } = await connection.response()
    connection.socket.destroy()
    assert.match(head, /^content-encoding: gzip$/im)
    assert.notEqual(/^etag: (.*)$/im.exec(head)?.[1], plain.headers.etag)
    assert.equal(String(gunzipSync(Buffer.from(body, 'latin1'))), plain.text)
  })

  test('has its stylesheet and its icon at addresses of the service', async () => {
    const { text } = await visit('/adopt')
    const hrefs = [...text.matchAll(/<link rel="(?:stylesheet|icon)" href="([^"]+)"/g)].map(
      ([, href]) => href,
    )
    assert.equal(hrefs.length, 2)
    for (const href of hrefs) assert.equal((await visit(String(href))).status, 200)
    const { headers } = await visit(String(hrefs[0]))
    assert.equal(headers['content-type'], 'text/css; charset=utf-8')
    assert.match(String(headers['cache-control']), /immutable/)
  })

  test('shows a change of an animal, a photo, the store and the date at once', async () => {
    const id = await add({ name: 'Before', profile: { birthDate: '2026-08-16' } })
    const shown = async (pattern: RegExp) => {
      for (const path of ['/adopt', `/adopt/${id}`]) assert.match((await visit(path)).text, pattern, path)
    }
    await shown(/Before/)
    await call('PATCH', `/pets/${id}`, { name: 'After' })
    await shown(/After/)
    await call('PATCH', `/pets/${id}/profile`, { breeds: ['Beagle'] })
    await shown(/Beagle/)
    await call('POST', `/pets/${id}/photos`, await smallPhoto(), { 'content-type': 'image/jpeg' })
    await shown(/\/photos\//)
    await setStore({ name: 'Another name' })
    await shown(/Another name/)
    await shown(/13\u00a0weeks/)
    service.advance(86_400_000)
    await shown(/3\u00a0months/)
    await call('PATCH', `/pets/${id}/profile`, { listed: false })
    assert.deepEqual(shownIds((await visit('/adopt')).text), [])
    assert.equal((await visit(`/adopt/${id}`)).status, 404)
    await call('DELETE', `/pets/${id}`)
  })

  test('has allowances for each address: 600 pages and 30 searches a minute', async () => {
    const address = '192.0.2.1'
    const isIndexed = async () => (await visit('/adopt?q=a', { address: '192.0.2.2' })).status === 200
    await eventually('the index has the changes of other tests', isIndexed)
    // The form sends other addresses of the search first. Only the search itself counts as one.
    for (let count = 0; count < 30; count++) {
      assert.equal((await visit(`/adopt?q=a${count}&sex=`, { address })).status, 302)
      assert.equal((await visit(`/adopt?q=a${count}`, { address })).status, 200)
    }
    const search = await visit('/adopt?q=b', { address })
    assert.deepEqual([search.status, search.headers['content-type']], [429, 'text/html; charset=utf-8'])
    assert.match(search.text, /Please wait a moment/)
    assert.match(String(search.headers['retry-after']), /^\d+$/)
    assert.equal((await visit('/adopt/animals.json?q=b', { address })).json.code, 'rate_limit_exceeded')
    for (let count = 30; count < 600; count++) assert.equal((await visit('/adopt', { address })).status, 200)
    assert.equal((await visit('/adopt', { address })).status, 429)
    assert.equal((await visit('/guides', { address })).status, 200)
    service.advance(60_000)
    assert.equal((await visit('/adopt?q=b', { address })).status, 200)
  })

  test('is not kept if it is an error', async () => {
    const adopted = await add({ status: 'sold' })
    service.advance(31 * 86_400_000)
    for (const [path, expected] of [
      [`/adopt/${adopted}`, 410],
      ['/adopt/999999', 404],
      ['/adopt/sitemap.xml?part=x', 404],
      ['/adopt/a/b', 404],
      ['/adopt/animals.json?limit=x', 400],
      [`/adopt?q=${'x'.repeat(201)}`, 400],
    ] as const) {
      const { status, headers } = await visit(path)
      assert.deepEqual([path, status, headers['cache-control']], [path, expected, 'no-store'])
    }
    const rejected = await visit('/adopt', { method: 'POST' })
    assert.deepEqual([rejected.status, rejected.headers['cache-control']], [405, 'no-store'])
    await call('DELETE', `/pets/${adopted}`)
  })
})
