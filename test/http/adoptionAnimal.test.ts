import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { markup, publicUrl, smallPhoto, useAdoption } from '../support/adoption.ts'
import { jpeg } from '../support/images.ts'

const dayMs = 86_400_000
const { service, call, setStore, add, addPhoto, visit } = useAdoption()
before(() => setStore({ name: 'Second Chance', adoptionPage: true }))

const textOf = async (id: number) => (await visit(`/adopt/${id}`)).text
const metaOf = (text: string, name: string) =>
  new RegExp(`<meta (?:name|property)="${name}" content="([^"]*)">`).exec(text)?.[1]

describe('the page of an animal', () => {
  test('has all that is known and public, and nothing else', async () => {
    const profile = {
      ...{ species: 'dog', breeds: ['Labrador Retriever'], mixed: true, sex: 'female', size: 'xlarge' },
      ...{ birthDate: '2023-11-01', birthDateEstimated: true, coat: 'wire', colors: ['black', 'tan'] },
      ...{ altered: true, houseTrained: false, declawed: false, vaccinated: true, specialNeeds: true },
      goodWith: { children: 'yes', dogs: 'selective', cats: 'no' },
      ...{ minChildAge: 6, fee: { amount: 25_050, currency: 'EUR' }, arrivedOn: '2026-04-02' },
      ...{ externalId: 'A-77', attributes: { 'Favorite toy': 'A ball' }, courtesy: true },
      ...{ specialNeedsNotes: 'Eye drops.', videoUrl: 'https://video.example/?a=1&b=2' },
      ...{ microchip: '276098', location: 'Kennel 4', staffNotes: 'Bites the postman' },
      description: 'First paragraph,\nsecond line.\n\nSecond <b>paragraph</b>.',
    }
    const id = await add({ profile })
    const { status, text } = await visit(`/adopt/${id}`)
    assert.equal(status, 200)
    const facts = [...text.matchAll(/<dt[^>]*>([^<]*)<\/dt><dd[^>]*>([^<]*)<\/dd>/g)]
    assert.deepEqual(Object.fromEntries(facts.map(([, name, value]) => [name, value])), {
      Kind: 'Dog',
      Breed: 'Labrador Retriever mix',
      Sex: 'Female',
      Age: 'About 3\u00a0years',
      Size: 'Extra large',
      Color: 'Black, tan',
      Coat: 'Wire',
      'Good with': 'Children from 6, some dogs',
      'Not with': 'Cats',
      'Spayed or neutered': 'Yes',
      Vaccinated: 'Yes',
      'House-trained': 'No',
      Declawed: 'No',
      'Special needs': 'Yes',
      'Here since': 'April 2, 2026',
      Fee: '€250.50',
      Reference: 'A-77',
      'Favorite toy': 'A ball',
    })
    assert.match(text, /<p class="lines" dir="auto">First paragraph,\nsecond line.<\/p>/)
    assert.match(text, /<p class="lines" dir="auto">Second &lt;b&gt;paragraph&lt;\/b&gt;.<\/p>/)
    assert.match(text, /Eye drops\./)
    assert.match(text, /href="https:\/\/video\.example\/\?a=1&amp;b=2" rel="noopener nofollow"/)
    assert.doesNotMatch(text, /276098|Kennel 4|postman/)
  })

  test('leaves out what is unknown', async () => {
    const text = await textOf(await add({ name: 'Unknown' }))
    assert.match(text, /<h1 dir="auto">Unknown<\/h1>/)
    assert.doesNotMatch(text, /<dl|About Unknown|null|undefined|NaN/)
    assert.match(text, /class="no-photo"/)
  })

  test('has its photos in order, the first one at once and the others when they are needed', async () => {
    const id = await add({ photos: [await jpeg(1200, 800), await jpeg(300, 900)] })
    const [, second] = await call('GET', `/pets/${id}/photos`)
    await call('PATCH', `/pets/${id}/photos/${second.id}`, { alt: markup, caption: markup })
    const text = await textOf(id)
    const images = [...text.matchAll(/<img [^>]+>/g)].map(([image]) => image)
    assert.equal(images.length, 2)
    assert.match(
      images[0] as string,
      /320w, .* 640w, .* 1200w" sizes="[^"]+" width="1200" height="800" alt="Luna" fetchpriority="high"/,
    )
    assert.match(
      images[1] as string,
      /srcset="\S+ 300w" sizes="[^"]+" width="300" height="900" alt="&lt;script/,
    )
    assert.match(images[1] as string, /loading="lazy"/)
    assert.match(text, /<figcaption dir="auto">&lt;script/)
  })

  test('says how to reach the store', async () => {
    const contact = { phone: '+44 20 7946-0000 ext. 5', email: 'a+b@shelter.example' }
    await setStore({ ...contact, url: 'https://shelter.example/x?a=1&b="', address: 'Mill Lane\nRiverside' })
    const id = await add({ name: 'Luna & Co', profile: { contactUrl: 'https://form.example/luna' } })
    const text = await textOf(id)
    assert.match(
      text,
      /<a class="button" href="https:\/\/form\.example\/luna" rel="noopener nofollow">Ask about Luna &amp; Co</,
    )
    assert.match(text, /href="mailto:a\+b@shelter\.example\?subject=Luna%20%26%20Co"/)
    assert.match(text, /href="tel:\+442079460000">Call \+44 20 7946-0000 ext\. 5</)
    assert.match(text, /href="https:\/\/shelter\.example\/x\?a=1&amp;b=[^"]*" rel="noopener nofollow"/)
    assert.match(text, /Mill Lane\nRiverside/)
    await setStore({ phone: null, email: null, url: null, address: null })
    assert.doesNotMatch(await textOf(await add()), /tel:|mailto:|#contact/)
  })

  test('has the data of shared links, with a description that ends at a word', async () => {
    const description = `Luna likes ${'walks '.repeat(60)}`
    const id = await add({ profile: { species: 'dog', description } })
    await addPhoto(id, await jpeg(1200, 800))
    const text = await textOf(id)
    const [photo] = await call('GET', `/pets/${id}/photos`)
    assert.match(text, new RegExp(`<link rel="canonical" href="${publicUrl}/adopt/${id}">`))
    assert.match(text, /<title>Adopt Luna - Second Chance<\/title>/)
    assert.equal(metaOf(text, 'og:url'), `${publicUrl}/adopt/${id}`)
    assert.equal(metaOf(text, 'og:title'), 'Adopt Luna - Second Chance')
    assert.equal(metaOf(text, 'og:image'), `${publicUrl}/photos/${photo.id}/1600.jpg`)
    assert.deepEqual([metaOf(text, 'og:image:width'), metaOf(text, 'og:image:height')], ['1200', '800'])
    assert.equal(metaOf(text, 'twitter:card'), 'summary_large_image')
    const shared = String(metaOf(text, 'description'))
    assert.match(shared, /^Dog\. Luna likes walks .* walks…$/)
    assert.ok(shared.length <= 201)
    assert.equal(metaOf(text, 'og:description'), shared)
    assert.equal(metaOf(text, 'robots'), undefined)
  })

  test('shows the animals that stay together, if they are listed and on offer', async () => {
    const [luna, milo, hidden, sold] = [
      await add({ name: 'Luna' }),
      await add({ name: 'Milo', photos: [await smallPhoto()] }),
      await add({ name: 'Hidden', profile: { listed: false } }),
      await add({ name: 'Gone', status: 'sold' }),
    ]
    await call('PATCH', `/pets/${luna}/profile`, { bondedWith: [milo, hidden, sold] })
    const text = await textOf(luna)
    assert.match(text, /Luna and Milo stay together/)
    assert.match(text, new RegExp(`stays together with <a href="/adopt/${milo}"`))
    assert.doesNotMatch(text, /Hidden|Gone/)
    assert.match(await textOf(milo), new RegExp(`href="/adopt/${luna}"`))
  })

  test('says that the animal is reserved', async () => {
    assert.match(await textOf(await add({ status: 'pending' })), /class="badge">Reserved</)
  })

  test('says for 30 days that the animal has found a home, then that it is gone', async () => {
    const id = await add({ name: 'Lucky', profile: { description: 'A secret story.' } })
    await call('PATCH', `/pets/${id}`, { status: 'sold' })
    const check = async (status: number, pattern: RegExp) => {
      const page = await visit(`/adopt/${id}`)
      assert.deepEqual([page.status, page.headers['content-type']], [status, 'text/html; charset=utf-8'])
      assert.match(page.text, pattern)
      assert.doesNotMatch(page.text, /A secret story|rel="canonical"/)
      assert.equal(metaOf(page.text, 'robots'), 'noindex')
    }
    await check(200, /Lucky has found a home/)
    service.advance(30 * dayMs)
    await check(200, /Lucky has found a home/)
    service.advance(dayMs)
    await check(410, /This animal has found a home/)
    await call('PATCH', `/pets/${id}`, { status: 'available' })
    assert.match(await textOf(id), /A secret story/)
  })

  test('does not exist for an animal that is not listed, or an address without one', async () => {
    const hidden = await add({ name: 'Hidden', profile: { listed: false } })
    const gone = await add({ name: 'Hidden', status: 'sold', profile: { listed: false } })
    for (const id of [hidden, gone, 999_999, 'x', '0', '-1', `0${hidden}`, '9'.repeat(40), '%00', '1.5']) {
      const { status, text, headers } = await visit(`/adopt/${id}`)
      assert.deepEqual([id, status, headers['content-type']], [id, 404, 'text/html; charset=utf-8'])
      assert.match(text, /This animal is not here/)
      assert.doesNotMatch(text, /Hidden/)
    }
    assert.equal((await visit('/adopt/1/more')).json.code, 'not_found')
  })
})
