/** The words that people write for values, in lower case and without punctuation. */

type Words = Readonly<Record<string, string>>

export const yesWords = 'yes, y, true, t, 1, x, on, yep, yeah'
export const noWords = 'no, n, false, f, 0, off, nope'
/** Blank cells, and cells of punctuation only, such as a dash, are unknown too. */
export const unknownWords =
  'unknown, unk, u, n a, na, not known, not sure, unsure, not tested, untested, tbd, none given'

/** What else means yes and no for a field. */
export const flagWords: Readonly<Record<string, { readonly yes?: string; readonly no?: string }>> = {
  altered: {
    yes: 'altered, spayed, neutered, spayed neutered, fixed, desexed, castrated, sterilized, sterilised, s, sn',
    no: 'unaltered, not altered, intact, entire, not spayed, not neutered, not fixed',
  },
  vaccinated: { yes: 'up to date, utd, current, vaccinated', no: 'not up to date, overdue, not vaccinated' },
  mixed: { yes: 'mix, mixed, cross, crossbreed', no: 'pure, purebred, pure breed' },
  houseTrained: { yes: 'house trained, housetrained, trained', no: 'not trained, not house trained' },
  declawed: { yes: 'declawed, front, front only, both, all four', no: 'not declawed' },
}

export const statusWords: Words = {
  available:
    'available, adoptable, available for adoption, for adoption, up for adoption, ready for adoption',
  pending: 'pending, on hold, hold, reserved, adoption pending, pending adoption, application pending',
  sold: 'sold, adopted, rehomed, found a home',
}

export const sexWords: Words = {
  male: 'male, m, boy',
  female: 'female, f, girl',
  'male, altered':
    'neutered male, male neutered, altered male, male altered, castrated male, m n, n m, mn, nm, mc',
  'female, altered':
    'spayed female, female spayed, altered female, female altered, neutered female, female neutered, f s, s f, fs, sf',
  'male, unaltered':
    'intact male, male intact, entire male, male entire, unaltered male, male unaltered, unneutered male',
  'female, unaltered':
    'intact female, female intact, entire female, female entire, unaltered female, female unaltered, unspayed female',
}

export const sizeWords: Words = {
  small: 'small, s, sm, toy, tiny',
  medium: 'medium, m, med',
  large: 'large, l, lg, big',
  xlarge: 'xlarge, x large, extra large, xl, xxl, giant, very large',
}

export const coatWords: Words = {
  hairless: 'hairless, bald',
  short: 'short, s, short hair, shorthair, short haired, smooth',
  medium: 'medium, m, medium hair, medium haired, mid length',
  long: 'long, l, long hair, longhair, long haired',
  wire: 'wire, wiry, wire haired, wirehaired, rough',
  curly: 'curly, curled, wavy',
}

export const ageGroupWords: Words = {
  baby: 'baby, puppy, kitten, pup, newborn, infant, neonate',
  young: 'young, young adult, adolescent, juvenile, teenager',
  adult: 'adult, mature',
  senior: 'senior, old, elderly, geriatric',
}

export const compatibilityWords: Words = {
  yes: 'good, great, ok, okay, friendly',
  no: 'not good, bad, not friendly',
  selective:
    'selective, some, maybe, sometimes, depends, with introduction, with slow introduction, older, older children, older kids, older only',
}

/** Other names of kinds of animals, for categories and species. Plurals need no entry. */
export const kindWords: Words = {
  dog: 'dog, canine, puppy, pup',
  cat: 'cat, feline, kitten',
  rabbit: 'rabbit, bunny',
}

export const irregularPlurals: ReadonlyMap<string, string> = new Map([
  ['mice', 'mouse'],
  ['geese', 'goose'],
  ['wolves', 'wolf'],
  ['calves', 'calf'],
])
