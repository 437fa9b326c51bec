import { timestamp } from '../clock.ts'
import { summaryOf } from '../profiles/profile.ts'
import type { StoreProfile } from '../store/store.ts'
import type { ShownAnimal } from './animal.ts'
import { feedPath, storeName } from './document.ts'
import { headlineOf } from './facts.ts'
import { type Html, html } from './html.ts'
import { sharedImageOf } from './photoHtml.ts'
import { animalPath, listPath } from './view.ts'

/** Of animals that were added by a version that did not record it. */
const unknownTime = timestamp(0)

const updatedAtOf = ({ profile }: ShownAnimal): string => profile.updatedAt ?? unknownTime

/** The newest animals as an Atom feed. */
export function renderFeed(
  animals: readonly ShownAnimal[],
  store: StoreProfile,
  publicUrl: string,
  now: number,
): string {
  const updated = animals.map(updatedAtOf).sort().at(-1) ?? unknownTime
  const feed = html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">
<title>${storeName(store)}</title>
<subtitle>Animals that are looking for a home</subtitle>
<id>${publicUrl}${listPath}</id>
<link rel="alternate" type="text/html" href="${publicUrl}${listPath}"/>
<link rel="self" type="application/atom+xml" href="${publicUrl}${feedPath}"/>
<updated>${updated}</updated>
<author><name>${storeName(store)}</name></author>
${animals.map((animal) => entry(animal, publicUrl, now))}</feed>
`
  return feed.text
}

function entry(animal: ShownAnimal, publicUrl: string, now: number): Html {
  const { pet, profile, photos } = animal
  const address = `${publicUrl}${animalPath(pet.id)}`
  const image = sharedImageOf(photos[0])
  const text = [headlineOf(profile, now), summaryOf(profile.description)].filter(Boolean).join('\n\n')
  return html`<entry>
<title>${pet.name}${pet.status === 'pending' && ' (reserved)'}</title>
<id>${address}</id>
<link rel="alternate" type="text/html" href="${address}"/>
${image && html`<link rel="enclosure" type="image/jpeg" href="${publicUrl}${image.url}"/>\n`}${profile.createdAt !== null && html`<published>${profile.createdAt}</published>\n`}<updated>${updatedAtOf(animal)}</updated>
<summary>${text === '' ? pet.name : text}</summary>
</entry>
`
}
