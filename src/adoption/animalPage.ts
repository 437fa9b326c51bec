import { summaryOf } from '../profiles/profile.ts'
import type { StoreProfile } from '../store/store.ts'
import type { ShownAnimal } from './animal.ts'
import { externalLink, httpsLink, paragraphs, renderDocument, type Site, telOf } from './document.ts'
import { factsOf, headlineOf } from './facts.ts'
import { type Html, html } from './html.ts'
import { card } from './listPage.ts'
import { noPhoto, photoHtml, sharedImageOf } from './photoHtml.ts'
import { animalPath, listPath } from './view.ts'

/** Longer names have a smaller font. */
const longNameLength = 30
const descriptionLengthMax = 200
const dayMs = 86_400_000
/** How long the page of an animal says that it has found a home. */
const adoptedDays = 30

/** Whether an animal that has found a home still has a page. */
export function isRecentlyAdopted({ profile: { adoptedOn } }: ShownAnimal, now: number): boolean {
  if (adoptedOn === null) return false
  const today = new Date(now).toISOString().slice(0, 10)
  return (Date.parse(today) - Date.parse(adoptedOn)) / dayMs <= adoptedDays
}

export type AnimalPageOptions = {
  readonly animal: ShownAnimal
  /** The animals that are adopted together with it. */
  readonly bonded: readonly ShownAnimal[]
  readonly store: StoreProfile
  readonly site: Site
  readonly now: number
}

const backLink = html`<p class="back"><a href="${listPath}">All animals</a></p>`

export function renderAnimalPage(options: AnimalPageOptions): string {
  const { animal, store, site } = options
  const { pet, profile, photos } = animal
  const isAdopted = pet.status === 'sold'
  return renderDocument({
    title: titleOf(options),
    description: isAdopted ? undefined : sharedDescription(options),
    canonical: isAdopted ? undefined : animalPath(pet.id),
    image: sharedImageOf(photos[0]),
    store,
    site,
    main: html`${backLink}
<article class="animal">
${heroOf(animal)}
<div class="panel">
${isAdopted ? adopted(animal) : onOffer(options)}
</div>
${
  !isAdopted &&
  html`<div class="story">
${profile.description !== null && profile.description.trim() !== '' && html`<h2 dir="auto">About ${pet.name}</h2>\n${paragraphs(profile.description)}`}
${profile.specialNeedsNotes !== null && html`<h2>Special needs</h2>\n${paragraphs(profile.specialNeedsNotes)}`}
${profile.videoUrl !== null && html`<p>${httpsLink(profile.videoUrl, `Watch a video of ${pet.name}`)}</p>`}
${morePhotos(animal)}
</div>`
}
</article>
${!isAdopted && bondedAnimals(options)}`,
  })
}

function titleOf({ animal: { pet }, store }: AnimalPageOptions): string {
  const where = store.name === null ? '' : ` - ${store.name}`
  return pet.status === 'sold' ? `${pet.name} has found a home${where}` : `Adopt ${pet.name}${where}`
}

function sharedDescription({ animal: { profile }, now }: AnimalPageOptions): string {
  const headline = headlineOf(profile, now)
  const text = [headline, profile.description ?? ''].filter(Boolean).join('. ').replace(/\s+/g, ' ').trim()
  return summaryOf(text, descriptionLengthMax) || 'This animal is looking for a home.'
}

const heroSizes = '(min-width: 76rem) 42rem, (min-width: 56rem) 56vw, 100vw'
const galleryLayout = '(min-width: 76rem) 21rem, (min-width: 56rem) 28vw, (min-width: 36rem) 46vw, 94vw'

function heroOf({ pet, photos: [photo] }: ShownAnimal): Html {
  if (!photo) return html`<div class="hero photo">${noPhoto}</div>`
  return html`<figure class="hero"><div class="photo">${photoHtml(photo, { alt: pet.name, sizes: heroSizes, isFirst: true })}</div>${captionOf(photo.caption)}</figure>`
}

const captionOf = (caption: string | null) =>
  caption !== null && html`<figcaption dir="auto">${caption}</figcaption>`

function morePhotos({ pet, photos }: ShownAnimal): Html | false {
  if (photos.length < 2) return false
  return html`<h2 dir="auto">More photos of ${pet.name}</h2>
<div class="gallery">
${photos
  .slice(1)
  .map(
    (photo) =>
      html`<figure><div class="photo">${photoHtml(photo, { alt: pet.name, sizes: galleryLayout })}</div>${captionOf(photo.caption)}</figure>\n`,
  )}</div>`
}

const heading = (text: string): Html =>
  html`<h1 dir="auto"${text.length > longNameLength && html` class="long"`}>${text}</h1>`

function onOffer(options: AnimalPageOptions): Html {
  const { animal, bonded, now } = options
  const { pet, profile } = animal
  const headline = headlineOf(profile, now)
  const facts = factsOf(profile, now)
  const isReserved = pet.status === 'pending'
  return html`${isReserved && html`<p class="badge">Reserved</p>`}
${heading(pet.name)}
${headline !== '' && html`<p class="lead">${headline}</p>`}
${isReserved && html`<p>Someone is getting to know ${pet.name}. You can still ask, in case it does not work out.</p>`}
${bonded.length > 0 && html`<p>${pet.name} stays together with ${linksTo(bonded)}.</p>`}
${profile.courtesy && html`<p>${pet.name} is listed for another organization or person.</p>`}
${contactLinks(options)}
${facts.length > 0 && html`<dl class="facts">\n${facts.map(fact)}</dl>`}`
}

const fact = ([name, value]: [string, string]): Html =>
  html`<div><dt dir="auto">${name}</dt><dd dir="auto">${value}</dd></div>\n`

const linksTo = (animals: readonly ShownAnimal[]): Html[] =>
  animals.map(({ pet }, index) => {
    const separator = index === 0 ? '' : index === animals.length - 1 ? ' and ' : ', '
    return html`${separator}<a href="${animalPath(pet.id)}" dir="auto">${pet.name}</a>`
  })

/** How to reach the store about the animal. The first way is the most prominent one. */
function contactLinks({
  animal: { pet, profile },
  store: { email, phone },
}: AnimalPageOptions): Html | false {
  const subject = encodeURIComponent(pet.name)
  const tel = telOf(phone ?? '')
  const ways = [
    profile.contactUrl !== null && ([profile.contactUrl, `Ask about ${pet.name}`] as const),
    email !== null && ([`mailto:${email}?subject=${subject}`, 'Write to us'] as const),
    tel !== undefined && ([tel, `Call ${phone}`] as const),
  ].filter((way) => way !== false)
  if (ways.length === 0) return false
  return html`<p class="contact">
${ways.map(([href, text], index) => html`<a class="button${index > 0 && ' plain'}" href="${href}"${href.startsWith('https:') && externalLink}>${text}</a>\n`)}</p>`
}

const adopted = ({ pet }: ShownAnimal): Html => html`${heading(`${pet.name} has found a home`)}
<p class="lead">Thank you to everyone who asked. Other animals are still waiting.</p>
<p class="contact"><a class="button" href="${listPath}">Meet the others</a></p>`

/** The animals that stay together with this one. */
function bondedAnimals({ animal: { pet }, bonded, now }: AnimalPageOptions): Html | false {
  if (bonded.length === 0) return false
  const names = new Intl.ListFormat('en').format(
    [pet, ...bonded.map((other) => other.pet)].map(({ name }) => name),
  )
  return html`<section class="bonded"><h2 dir="auto">${names} stay together</h2>
<p>They are close friends and need a home together.</p>
<ul class="cards" role="list">
${bonded.map((other) => card(other, now))}
</ul></section>`
}
