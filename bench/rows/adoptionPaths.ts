/** Adoption pages of many animals, as visitors request them. */
import { separateWords, wordOfRank } from '../data/animals.ts'
import { requestsWith } from '../servers/requests.ts'

/** The budget of a page without its photos. */
export const pageBytesMax = 100 * 1024
/** The service limits the requests of an address, so each request comes from another one, behind a proxy. */
export const trustedProxy = { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' }
const addressesPerGroup = 65_536

export const isPage = (path: string) => path.startsWith('/adopt')

export const visitorHeaders = (visitor: number) => ({
  'X-Forwarded-For': `2001:db8:${Math.floor(visitor / addressesPerGroup)}:${(visitor % addressesPerGroup).toString(16)}::1`,
})

/** A part of the pages is in the middle. Pages are cached by the id where they begin, and searches are not cached. */
export function adoptionPaths(count: number): (readonly [name: string, nextPath: () => string])[] {
  let sent = 0
  const id = () => 100 + ((++sent * 7_919) % (count - 100))
  const filters = 'sex=male&size=small&ageGroup=senior&goodWith=children&goodWith=dogs&goodWith=cats'
  return [
    ['a page', () => `/adopt?before=${id()}`],
    ['a previous page', () => `/adopt?after=${id()}`],
    ['a page of a kind', () => `/adopt?species=dog&before=${id()}`],
    ['all filters', () => `/adopt?species=horse&${filters}&before=${id()}`],
    ['all filters, a previous page', () => `/adopt?species=horse&${filters}&after=${id()}`],
    ['an unknown kind', () => `/adopt?species=unicorn&before=${id()}`],
    ['a search', () => `/adopt?q=${wordOfRank(60)}`],
    ['a search for terms that never meet', () => `/adopt?sex=female&q=${separateWords[0]}`],
  ]
}

export async function turnOnAdoptionPage(port: number, key: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/store/profile`, {
    method: 'PATCH',
    headers: { ...requestsWith(key).list.headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'Second Chance Shelter', adoptionPage: true }),
  })
  if (!response.ok) throw new Error(`The adoption page is off: ${await response.text()}`)
}
