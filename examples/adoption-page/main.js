import { Petstore, RateLimitError } from './petstore-client.min.js'

// A publishable key can be public: it can only read, and only from the origins that it allows. With the plan "free", it
// allows 30 visits a minute and 500 a day, because a visit makes two requests. For more: petstore keys update ID --plan pro
const store = new Petstore({
  baseUrl: 'http://127.0.0.1:8080/v1',
  apiKey: 'ps_live_...',
  // A visitor should see a message soon, instead of waiting for the rate limit.
  maxWaitMs: 5_000,
})
const petsPerPage = 24

const element = (id) => document.getElementById(id)
const filter = element('filter')
const status = element('status')
const list = element('pets')
const more = element('more')

const categoryNames = new Map()
/** Ends the requests for a filter that the visitor has changed since. */
let loading = new AbortController()
let nextCursor

async function showCategories() {
  for await (const { id, name } of store.categories.list()) {
    if (name === undefined) continue
    categoryNames.set(id, name)
    const label = document.createElement('label')
    const input = Object.assign(document.createElement('input'), {
      type: 'radio',
      name: 'category',
      value: id,
    })
    const text = Object.assign(document.createElement('span'), { textContent: name })
    label.append(input, text)
    filter.append(label)
  }
  filter.hidden = categoryNames.size === 0
}

async function showPets() {
  const { signal } = loading
  const chosen = filter.elements.category.value
  more.disabled = true
  more.textContent = 'Show more'
  try {
    const query = { status: 'available', limit: petsPerPage, cursor: nextCursor }
    // BigInt keeps ids beyond 2^53 exact.
    const page = await store.pets
      .list(chosen === '' ? query : { ...query, categoryId: BigInt(chosen) }, { signal })
      .page()
    const cards = page.items.map(cardOf)
    list.append(...cards)
    // The button moves or disappears, so the focus moves to the first new animal.
    if (nextCursor !== undefined) cards[0]?.focus()
    nextCursor = page.nextCursor
    more.hidden = nextCursor === undefined
    status.textContent = messageFor(list.children.length)
  } catch (error) {
    if (!signal.aborted) showError(error)
  } finally {
    // After an abort, the next load enables the button.
    if (!signal.aborted) more.disabled = false
  }
}

const messageFor = (count) => {
  if (count === 0) return 'No animal is looking for a home at the moment. Come back soon.'
  if (nextCursor !== undefined) return `The ${count} newest animals.`
  return count === 1 ? 'One animal.' : `${count} animals.`
}

function cardOf({ id, name, categoryId }) {
  const card = document.createElement('li')
  card.tabIndex = -1
  const picture = Object.assign(document.createElement('div'), { className: 'picture', ariaHidden: 'true' })
  picture.style.setProperty('--hue', String((Number(id) * 47) % 360))
  picture.textContent = [...name][0].toUpperCase()
  const heading = Object.assign(document.createElement('h2'), { textContent: name })
  const kind = Object.assign(document.createElement('p'), {
    textContent: categoryNames.get(categoryId) ?? 'Animal',
  })
  card.append(picture, heading, kind)
  return card
}

function showError(error) {
  console.error(error)
  status.textContent =
    error instanceof RateLimitError
      ? 'Many people are looking at our animals right now. Try again in a minute.'
      : 'The animals cannot be shown at the moment. Try again.'
  more.hidden = false
  more.textContent = 'Try again'
}

filter.addEventListener('change', () => {
  loading.abort()
  loading = new AbortController()
  nextCursor = undefined
  list.replaceChildren()
  status.textContent = 'Loading the animals…'
  showPets()
})

more.addEventListener('click', showPets)

try {
  await showCategories()
} catch (error) {
  // The page is useful without the kinds of animals.
  console.error(error)
}
await showPets()
