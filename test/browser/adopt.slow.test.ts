import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { browserTest, type PageVisit } from '../support/browser.ts'
import { assertFits, assertSoundInBoth, desktop, hostile, phone, waitUntil } from '../support/console.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'
import { useConsole } from '../support/useConsole.ts'

const firstViewBytesMax = 100 * 1024
const viewports = {
  'small phone': { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true },
  phone,
  tablet: { viewport: { width: 768, height: 1024 } },
  desktop,
}
const longName = 'Wilhelmina Augusta Friederike von und zu Hohenstein-Rosenberg '.repeat(4).trim()
const longWord = 'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(5)

const test = useConsole({ PETSTORE_PUBLIC_URL: 'https://pets.example' })
const { api, visit } = test

const turnOn = () =>
  api('PATCH', '/store/profile', {
    ...{ name: 'Second Chance Shelter', phone: '+1 (555) 010-0199', email: 'hello@shelter.example' },
    ...{ url: 'https://shelter.example', address: '12 Mill Lane\nRiverside', adoptionPage: true },
    about: 'A small shelter by the river.\n\nVisit us on Saturdays.',
  })

async function add(index: number, name = `Pet ${index}`): Promise<number> {
  const status = index % 6 === 3 ? 'pending' : 'available'
  const { id } = await api('POST', '/pets', { name, categoryId: 1, status })
  if (index % 5 === 4) return id
  await api('PATCH', `/pets/${id}/profile`, {
    ...{
      species: ['dog', 'cat', 'rabbit'][index % 3],
      breeds: [index === 0 ? longWord.slice(0, 80) : 'Boxer'],
    },
    ...{ sex: 'female', size: 'large', birthDate: '2024-02-01', description: `${longWord}\n\n${hostile}` },
    ...{ goodWith: { children: 'yes', dogs: 'selective', cats: 'no' }, specialNeedsNotes: 'Eye drops.' },
    ...{ contactUrl: 'https://shelter.example/ask', videoUrl: 'https://video.example/1' },
  })
  for (const [width, height] of [
    [640, 480],
    [300, 900],
    [1600, 300],
  ].slice(0, index === 0 ? 3 : 1) as [number, number][]) {
    const body = await jpeg(width, height)
    const options = { key: test.service.operatorKey, body, headers: { 'content-type': 'image/jpeg' } }
    assert.equal((await test.service.request('POST', `/v1/pets/${id}/photos`, options)).status, 201)
  }
  return id
}

const check = (name: string, path: string, act: (opened: PageVisit) => Promise<void> = async () => {}) =>
  Promise.all(
    Object.entries(viewports).map(([screen, options]) =>
      visit(
        path,
        async (opened) => {
          await act(opened)
          await assertSoundInBoth(opened, `adopt-${name}-${screen}`)
        },
        { key: false, ...options },
      ),
    ),
  )

describe('the adoption page is accessible and fits every screen, in both color schemes', () => {
  browserTest('without animals', async () => {
    await turnOn()
    await check('none', '/adopt')
  })

  let first: number
  browserTest('with one animal, with a long name and photos of all shapes', async () => {
    first = await add(0, longName)
    await check('one', '/adopt')
    await check('animal', `/adopt/${first}`)
  })

  browserTest('with seven animals, and animals that stay together', async () => {
    const others: number[] = []
    for (let index = 1; index < 7; index++) others.push(await add(index))
    await check('seven', '/adopt')
    await api('PATCH', `/pets/${first}/profile`, { bondedWith: others.slice(0, 2) })
    await check('bonded', `/adopt/${first}`)
    await check('unknown', `/adopt/${others[3]}`)
  })

  browserTest('with many animals, filters and pages', async () => {
    for (let index = 7; index < 60; index++) await add(index)
    await eventually('the index', async () => {
      const { status, text } = await test.service.request('GET', '/adopt?species=dog')
      return status === 200 && text.includes('rel="next"') === false && text.includes('Pet 57')
    })
    await check('many', '/adopt')
    const query = 'species=dog&sex=female&size=large&ageGroup=young&goodWith=children'
    await check('filtered', `/adopt?${query}`, ({ page }) => page.getByText('Filters').click())
    await check('nothing', `/adopt?q=unicorn&${query}`)
    await check('wrong', '/adopt?q=a+b+c+d+e+f+g+h+i')
  })

  browserTest('for an animal that is missing or has found a home', async () => {
    await check('missing', '/adopt/999999')
    await api('PATCH', `/pets/${first}`, { status: 'sold' })
    await check('adopted', `/adopt/${first}`)
  })

  browserTest('with large text', () =>
    visit(
      '/adopt',
      async ({ page }) => {
        await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
        await assertFits(page)
      },
      { key: false, ...viewports['small phone'] },
    ),
  )
})

browserTest('the first view has at most 100 KiB without photos, and no script', () =>
  visit(
    '/adopt',
    async ({ page }) => {
      const sizes = new Map<string, Promise<number>>()
      const scripts: string[] = []
      page.on('response', (response) => {
        const { resourceType, url } = { resourceType: response.request().resourceType(), url: response.url() }
        if (resourceType === 'script') scripts.push(url)
        if (!url.includes('/photos/'))
          sizes.set(
            url,
            response.body().then((body) => body.length),
          )
      })
      await page.reload({ waitUntil: 'networkidle' })
      const bytes = (await Promise.all(sizes.values())).reduce((sum, size) => sum + size, 0)
      assert.ok(bytes > 0 && bytes <= firstViewBytesMax, `${bytes} bytes`)
      assert.deepEqual(scripts, [])
      await waitUntil(page, 'document.scripts.length === 0')
    },
    { key: false },
  ),
)

browserTest('every part can be reached and used with the keyboard, with a visible focus', () =>
  visit(
    '/adopt',
    async ({ page }) => {
      const focused = async () => {
        await page.keyboard.press('Tab')
        return page.evaluate<[string, boolean]>(`(() => {
          const { activeElement } = document
          const styles = [activeElement, ...activeElement.querySelectorAll('*')]
            .flatMap((element) => [getComputedStyle(element), getComputedStyle(element, '::after')])
          const hasOutline = styles.some(({ outlineStyle, outlineWidth }) => outlineStyle === 'solid' && outlineWidth !== '0px')
          return [activeElement.textContent.trim() || activeElement.name, hasOutline]
        })()`)
      }
      const seen: string[] = []
      for (let count = 0; count < 14; count++) {
        const [name, hasOutline] = await focused()
        seen.push(name)
        assert.ok(hasOutline, `${name} shows no focus.`)
      }
      assert.deepEqual(seen.slice(0, 5), [
        'Skip to content',
        'Second Chance Shelter',
        'Contact',
        'q',
        'Search',
      ])
      assert.deepEqual(seen.slice(5, 10), ['All', 'Cat', 'Dog', 'Rabbit', 'Filters'])
      assert.match(String(seen[10]), /^Pet \d+$/)
    },
    { key: false },
  ),
)
