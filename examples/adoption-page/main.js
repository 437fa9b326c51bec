import { cardOf, detailsOf } from './elements.js'
import { PetstoreError, RateLimitError } from './petstore-client.min.js'
import { store } from './store.js'

const animalsPerPage = 24
/** Typing sends a search when it pauses. Each search is a request. */
const typingPauseMs = 400

const element = (id) => document.getElementById(id)
const [filter, clear, status, list, more, dialog, details] = [
  ...['filter', 'clear', 'status', 'animals', 'more', 'dialog', 'details'].map(element),
]

/** The animals that are shown, by their id. */
const listings = new Map()
/** Ends the requests for a filter that the visitor has changed since. */
let loading = new AbortController()
let nextCursor
let typingPause

/** The filters that are set, as a query. */
function chosen() {
  const fields = [...new FormData(filter)].map(([name, value]) => [name, value.trim()])
  return new URLSearchParams(fields.filter(([, value]) => value !== ''))
}

async function showAnimals() {
  const { signal } = loading
  const query = chosen()
  more.disabled = true
  more.textContent = 'Show more'
  try {
    const filters = { ...Object.fromEntries(query), goodWith: query.getAll('goodWith') }
    if (filters.goodWith.length === 0) delete filters.goodWith
    const page = await store.listings
      .list({ ...filters, limit: animalsPerPage, cursor: nextCursor }, { signal })
      .page()
    for (const listing of page.items) listings.set(String(listing.pet.id), listing)
    const cards = page.items.map(cardOf)
    list.append(...cards)
    // The button moves or disappears, so the focus moves to the first new animal.
    if (nextCursor !== undefined) cards[0]?.querySelector('a').focus()
    nextCursor = page.nextCursor
    more.hidden = nextCursor === undefined
    status.textContent = messageFor(list.children.length, query.size > 0)
  } catch (error) {
    if (signal.aborted) return
    status.textContent = messageOf(error)
    more.hidden = false
    more.textContent = 'Try again'
  } finally {
    // After an abort, the next load enables the button.
    if (!signal.aborted) more.disabled = false
  }
}

function messageFor(count, isFiltered) {
  if (count === 0 && isFiltered) return 'No animal matches. Try fewer filters.'
  if (count === 0) return 'No animal is looking for a home at the moment. Come back soon.'
  if (nextCursor !== undefined) return `The ${count} newest animals.`
  return count === 1 ? 'One animal.' : `${count} animals.`
}

function messageOf(error) {
  console.error(error)
  if (error instanceof RateLimitError)
    return 'Many people are looking at our animals right now. Try again in a minute.'
  if (error instanceof PetstoreError && error.code === 'validation_failed') return 'Search for fewer words.'
  if (error instanceof PetstoreError && error.code === 'pet_not_found')
    return 'This animal is no longer here.'
  return 'The animals cannot be shown at the moment. Try again.'
}

function showFiltered() {
  loading.abort()
  loading = new AbortController()
  nextCursor = undefined
  list.replaceChildren()
  status.textContent = 'Loading the animals…'
  const query = chosen()
  clear.hidden = query.size === 0
  // A reload and a shared link have the same filters.
  history.replaceState(null, '', `${location.pathname}${query.size > 0 ? `?${query}` : ''}${location.hash}`)
  return showAnimals()
}

/** Sets the fields to the filters in the address. */
function readAddress() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = filter.elements.namedItem(name)
    if (name === 'goodWith') for (const box of field) box.checked ||= box.value === value
    else if (field) field.value = value
  }
}

/** Shows the animal that the address names, such as #pet-12, or closes the dialog. */
async function showDetails() {
  const { hash } = location
  const id = /^#pet-(\d+)$/.exec(hash)?.[1]
  if (id === undefined) return dialog.close()
  const known = listings.get(id)
  details.replaceChildren(...(known ? detailsOf(known) : [headingOf('Loading…')]))
  if (!dialog.open) dialog.showModal()
  dialog.scrollTop = 0
  const content = await detailsFor(id)
  // The visitor may have closed the dialog since.
  if (location.hash === hash) details.replaceChildren(...content)
}

async function detailsFor(id) {
  try {
    return detailsOf(await store.listings.get(BigInt(id)))
  } catch (error) {
    return [headingOf(messageOf(error))]
  }
}

const headingOf = (text) => Object.assign(document.createElement('h2'), { id: 'name', textContent: text })

filter.addEventListener('input', ({ target }) => {
  clearTimeout(typingPause)
  typingPause = setTimeout(showFiltered, target.type === 'search' ? typingPauseMs : 0)
})
filter.addEventListener('submit', (event) => {
  event.preventDefault()
  clearTimeout(typingPause)
  showFiltered()
})
// The fields are empty after the event.
filter.addEventListener('reset', () => setTimeout(showFiltered))
more.addEventListener('click', showAnimals)
dialog.addEventListener('close', () => {
  if (location.hash !== '') history.replaceState(null, '', location.pathname + location.search)
})
addEventListener('hashchange', showDetails)

readAddress()
showFiltered()
showDetails()
