import { factsOf, summaryOf } from './facts.js'
import { addressOf } from './store.js'

/** Texts of animals become text, never HTML: `textContent` and `append` do not parse them. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

/** A photo with its color until it is loaded. The browser chooses the file by `sizes`. */
function photoOf({ urls, width, height, alt, color }, name, sizes) {
  const files = [320, 640, 1600].map((size) => `${addressOf(urls[size])} ${Math.min(size, width)}w`)
  const image = make('img', { alt: alt || name, width, height, sizes, loading: 'lazy' })
  image.style.backgroundColor = color
  return Object.assign(image, { srcset: files.join(', '), src: addressOf(urls[640]) })
}

/** In place of a photo. */
function letterOf({ id, name }) {
  const letter = make('div', { className: 'letter', ariaHidden: 'true' }, [...name][0].toUpperCase())
  letter.style.setProperty('--hue', String((Number(id) * 47) % 360))
  return letter
}

const badgesOf = ({ status }) => (status === 'pending' ? [make('p', { className: 'badge' }, 'Reserved')] : [])

/** An animal in the list. The link opens the dialog. */
export function cardOf({ pet, profile, photos: [photo] }) {
  const sizes = '(min-width: 68rem) 16rem, (min-width: 44rem) 32vw, 46vw'
  const link = make('a', { href: `#pet-${pet.id}` }, pet.name)
  return make(
    'li',
    {},
    photo ? photoOf(photo, pet.name, sizes) : letterOf(pet),
    make('h2', {}, link),
    make('p', {}, summaryOf(profile)),
    ...badgesOf(pet),
  )
}

/** All about one animal. From the list, it has the beginning of the description only. */
export function detailsOf({ pet, profile, photos }) {
  const [first, ...others] = photos.map((photo) => figureOf(photo, pet.name))
  const facts = factsOf(profile).map(([name, value]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value)),
  )
  return [
    first ?? letterOf(pet),
    make('h2', { id: 'name' }, pet.name),
    ...badgesOf(pet),
    make('dl', {}, ...facts),
    make('p', { className: 'description' }, profile.description ?? profile.summary ?? ''),
    make('p', {}, profile.specialNeedsNotes ? `Special needs: ${profile.specialNeedsNotes}` : ''),
    ...linksOf(pet, profile),
    make('div', { className: 'photos' }, ...others),
  ]
}

function figureOf(photo, name) {
  const caption = photo.caption ? [make('figcaption', {}, photo.caption)] : []
  return make('figure', {}, photoOf(photo, name, '(min-width: 48rem) 44rem, 94vw'), ...caption)
}

function linksOf({ name }, { bondedWith, contactUrl, videoUrl }) {
  const link = (href, text) => make('p', {}, make('a', { href, rel: 'noopener nofollow' }, text))
  return [
    ...bondedWith.map((id) =>
      link(`#pet-${id}`, `${name} has a friend and wants to stay together: meet the friend`),
    ),
    ...(videoUrl ? [link(videoUrl, `Watch a video of ${name}`)] : []),
    ...(contactUrl ? [link(contactUrl, `Ask about ${name}`)] : []),
  ]
}
