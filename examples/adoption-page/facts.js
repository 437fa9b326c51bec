/** What is known about an animal, in words. What is unknown is left out. */

const ages = { baby: 'Baby', young: 'Young', adult: 'Adult', senior: 'Senior' }
const sexes = { female: 'Female', male: 'Male' }
const sizes = { small: 'Small', medium: 'Medium', large: 'Large', xlarge: 'Extra large' }

const counted = (count, unit) => `${count} ${unit}${count === 1 ? '' : 's'}`
const capitalized = (text) => text && text[0].toUpperCase() + text.slice(1)

function ageOf({ birthDate, birthDateEstimated, ageGroup }) {
  if (birthDate === null) return ages[ageGroup]
  const born = new Date(birthDate)
  const now = new Date()
  const isBeforeDay = now.getUTCDate() < born.getUTCDate() ? 1 : 0
  const months =
    (now.getUTCFullYear() - born.getUTCFullYear()) * 12 + now.getUTCMonth() - born.getUTCMonth() - isBeforeDay
  const age = months < 24 ? counted(Math.max(months, 0), 'month') : counted(Math.floor(months / 12), 'year')
  return birthDateEstimated ? `About ${age}` : age
}

/** One line for a card. */
export const summaryOf = (profile) =>
  [breedOf(profile), ageOf(profile), sexes[profile.sex]].filter(Boolean).join(' · ')

function breedOf({ breeds, mixed, species }) {
  const names = breeds.join(' and ')
  return mixed && names ? `${names} mix` : names || capitalized(species)
}

function feeOf({ fee }) {
  if (fee === null) return undefined
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: fee.currency })
  return format.format(fee.amount / 10 ** format.resolvedOptions().maximumFractionDigits)
}

/** The companions of the animal, such as "Children, some dogs". */
function companionsOf({ goodWith, minChildAge }) {
  const children = minChildAge ? `children from ${minChildAge}` : 'children'
  const names = { children, dogs: 'dogs', cats: 'cats' }
  const known = Object.entries(goodWith).filter(([, value]) => value === 'yes' || value === 'selective')
  const list = known.map(([name, value]) => (value === 'yes' ? names[name] : `some ${names[name]}`))
  return capitalized(list.join(', '))
}

const avoidedBy = ({ goodWith }) =>
  capitalized(
    Object.entries(goodWith)
      .filter(([, value]) => value === 'no')
      .map(([name]) => name)
      .join(', '),
  )

const answer = (value) => (value === null ? undefined : value ? 'Yes' : 'No')

/** The names and values of all that is known. */
export function factsOf(profile) {
  const facts = {
    Breed: breedOf(profile),
    Age: ageOf(profile),
    Sex: sexes[profile.sex],
    Size: sizes[profile.size],
    Color: capitalized(profile.colors.join(', ')),
    'Good with': companionsOf(profile),
    'Not with': avoidedBy(profile),
    'Spayed or neutered': answer(profile.altered),
    Vaccinated: answer(profile.vaccinated),
    'House-trained': answer(profile.houseTrained),
    'Special needs': answer(profile.specialNeeds),
    Fee: feeOf(profile),
  }
  return Object.entries(facts).filter(([, value]) => value)
}
