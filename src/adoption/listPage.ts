import type { StoreProfile } from '../store/store.ts'
import type { ShownAnimal } from './animal.ts'
import { hasContact, paw, renderDocument, type Site } from './document.ts'
import { ageAndSexOf, breedOf, capitalized } from './facts.ts'
import { chosenFilters, filterForm } from './filters.ts'
import { type Html, html } from './html.ts'
import { noPhoto, photoHtml, sharedImageOf, squareSizes } from './photoHtml.ts'
import type { AnimalPage, Kinds } from './queries.ts'
import { type AdoptionView, addressOf, animalPath, filtersOf, listPath } from './view.ts'

/** Photos that are visible without scrolling, on most screens. */
const firstPhotos = 4
/** So few animals need no search. */
const unsearchedMax = 3

export type ListPageOptions = {
  readonly view: AdoptionView
  readonly page: AnimalPage
  readonly kinds: Kinds
  readonly store: StoreProfile
  readonly site: Site
  readonly now: number
  /** Why the words cannot be searched for. */
  readonly problem?: string | undefined
}

export function renderListPage(options: ListPageOptions): string {
  const { view, page, store, site } = options
  const where = store.name === null ? '' : ` at ${store.name}`
  const { q, before, after, ...filters } = view
  const kind = view.species === undefined ? 'Animals' : capitalized(view.species)
  return renderDocument({
    title: `${kind} for adoption${where}`,
    description: `Meet the animals that are looking for a home${where}.`,
    // Searches and later pages change with every new animal.
    canonical:
      q === undefined && before === undefined && after === undefined ? addressOf(filters) : undefined,
    image: sharedImageOf(page.animals.find(({ photos }) => photos.length > 0)?.photos[0]),
    store,
    site,
    main: page.animals.length === 0 && addressOf(view) === listPath ? emptyStore(store) : content(options),
  })
}

const isFiltered = (view: AdoptionView): boolean => addressOf(filtersOf(view)) !== listPath

function content(options: ListPageOptions): Html {
  const { view, page, kinds, now } = options
  const { animals } = page
  const isSmall = kinds.total !== undefined && kinds.total <= unsearchedMax && !isFiltered(view)
  return html`<div class="intro"><h1>Looking for a home</h1>
<p class="lead">${leadOf(options)}</p></div>
${!isSmall && filterForm(view, kinds)}
${chosenFilters(view)}
${results(options)}
${
  animals.length > 0 &&
  html`<ul class="cards" role="list">
${animals.map((animal, index) => card(animal, now, index < firstPhotos))}</ul>`
}
${pageLinks(view, page)}`
}

function leadOf({ kinds: { total }, store }: ListPageOptions): string {
  const where = store.name === null ? '' : ` at ${store.name}`
  if (total === 1) return `One animal${where} hopes to meet you.`
  if (total === undefined || total === 0) return `The animals${where} hope to meet you.`
  return `${total.toLocaleString('en')} animals${where} hope to meet you.`
}

/** What the filters have found, for everyone and for screen readers. */
function results({ view, page, problem }: ListPageOptions): Html {
  const { animals, hasNext, hasPrevious } = page
  if (problem !== undefined)
    return html`<div class="notice"><h2>Please shorten your search</h2><p>A search ${problem}.</p></div>`
  if (animals.length === 0) return nothingFound(view)
  const isAll = !hasNext && !hasPrevious
  const count = animals.length === 1 ? 'One animal' : `${animals.length} animals`
  return html`<h2 class="count">${isAll && isFiltered(view) ? count : 'Newest first'}</h2>`
}

const nothingFound = (view: AdoptionView): Html =>
  html`<div class="notice"><h2>No animal matches</h2>
<p>${view.q !== undefined ? 'Try another word, or look at all animals.' : isFiltered(view) ? 'Remove a filter, or look at all animals.' : 'Look at all animals.'} New ones arrive often.</p>
<p><a class="button" href="${listPath}">Show all animals</a></p></div>`

const emptyStore = (store: StoreProfile): Html =>
  html`<div class="intro empty">${paw}<h1>Every animal has a home right now</h1>
<p class="lead">This is the best news ${store.name ?? 'we'} could have. New animals arrive often, so please come back soon.</p>
${hasContact(store) && html`<p class="contact"><a class="button" href="#contact">Get in touch</a></p>`}</div>`

/** An animal in a list. The whole card is the link. */
export function card({ pet, profile, photos: [photo] }: ShownAnimal, now: number, isFirst = false): Html {
  const sizes = photo && squareSizes(photo, cardSizes)
  const breed = breedOf(profile)
  const ageAndSex = ageAndSexOf(profile, now)
  return html`<li class="card"><div class="photo">${photo && sizes ? photoHtml(photo, { alt: '', sizes, isFirst }) : noPhoto}</div>
<div class="text"><h3><a href="${animalPath(pet.id)}" dir="auto">${pet.name}</a></h3>
${breed && html`<p>${breed}</p>`}
${ageAndSex && html`<p>${ageAndSex}</p>`}</div>
${pet.status === 'pending' && html`<p class="badge">Reserved</p>`}</li>
`
}

const cardSizes = [
  ['(min-width: 76rem)', 18, 'rem'],
  ['(min-width: 44rem)', 31, 'vw'],
  ['(min-width: 22rem)', 46, 'vw'],
  ['', 92, 'vw'],
] as const

function pageLinks(view: AdoptionView, { animals, hasPrevious, hasNext }: AnimalPage): Html | false {
  const first = animals[0]?.pet.id
  const last = animals.at(-1)?.pet.id
  const filters = filtersOf(view)
  if (!hasPrevious && !hasNext) return false
  return html`<nav class="pages" aria-label="Pages">
${hasPrevious && html`<a class="button plain" rel="prev" href="${addressOf(first === undefined ? filters : { ...filters, after: first })}">Previous page</a>`}
${hasNext && last !== undefined && html`<a class="button plain" rel="next" href="${addressOf({ ...filters, before: last })}">Next page</a>`}
</nav>`
}
