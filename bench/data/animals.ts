/** Animals with profiles, about 112 search terms each. The same number always gives the same animal. */
import { emptyProfile, type Profile } from '../../src/profiles/profile.ts'
import { seededRandom } from '../statistics.ts'

type Random = () => number

const vocabularySize = 5_000
const syllables = 'ba co di fu ga he ji ko la me ni po qua ri so tu ve wi xa yo ze'.split(' ')
const species = { dog: 0.5, cat: 0.35, rabbit: 0.1, horse: 0.05 }
const breedsPerSpecies = 40
const colors = 'black white brown golden grey cream red tan blue silver brindle spotted'.split(' ')
const sizes = ['small', 'medium', 'large', 'xlarge'] as const
const compatibilities = ['yes', 'no', 'selective'] as const
const descriptionWordsMin = 75
const descriptionWordsMax = 120
const firstBirthYear = 2012
const birthYears = 14

/** Words that every second animal has, and none has both. */
export const separateWords = ['gentleman', 'lady'] as const
/** In no description. */
export const absentWord = 'zzyzx'

/** Different words of two to four syllables. The first ones are the most frequent in descriptions. */
const vocabulary = Array.from({ length: vocabularySize }, (_, index) => {
  let word = ''
  for (let rest = index + syllables.length; rest > 0; rest = Math.floor(rest / syllables.length))
    word += syllables[rest % syllables.length]
  return word
})

/** The word of a rank: 0 is the most frequent one. */
export const wordOfRank = (rank: number): string => vocabulary[rank] as string

/** Zipf: a word of twice the rank is about half as frequent. */
const zipfWord = (random: Random): string => wordOfRank(Math.floor(vocabularySize ** random()) - 1)

const pick = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)] as T

export const breedName = (kind: string, index: number): string => `${wordOfRank(100 + index)} ${kind}`

function pickSpecies(random: Random): string {
  let rest = random()
  for (const [name, share] of Object.entries(species)) {
    rest -= share
    if (rest < 0) return name
  }
  return 'dog'
}

/** Repeated words are one term, so the description has more words than the animal has terms. */
function describe(random: Random, word: string): string {
  const words = new Set([word])
  const count = descriptionWordsMin + Math.floor(random() * (descriptionWordsMax - descriptionWordsMin + 1))
  while (words.size < count) words.add(zipfWord(random))
  return `${[...words].join(' ')}.`
}

function birthDate(random: Random): string {
  const twoDigits = (count: number) => String(1 + Math.floor(random() * count)).padStart(2, '0')
  return `${firstBirthYear + Math.floor(random() * birthYears)}-${twoDigits(12)}-${twoDigits(28)}`
}

/** A fifth is on offer. */
function pickStatus(random: Random) {
  const share = random()
  return share < 0.15 ? 'available' : share < 0.2 ? 'pending' : 'sold'
}

export function animalOf(number: number) {
  const random = seededRandom(number)
  const kind = pickSpecies(random)
  const isMale = random() < 0.5
  const compatibility = () => (random() < 0.2 ? null : pick(random, compatibilities))
  const profile: Profile = {
    ...emptyProfile,
    species: kind,
    breeds: [breedName(kind, Math.floor(breedsPerSpecies * random() ** 2))],
    mixed: random() < 0.5,
    sex: isMale ? 'male' : 'female',
    birthDate: birthDate(random),
    size: pick(random, sizes),
    colors: [pick(random, colors), pick(random, colors)],
    altered: random() < 0.7,
    vaccinated: random() < 0.9,
    specialNeeds: random() < 0.1,
    goodWith: { children: compatibility(), dogs: compatibility(), cats: compatibility() },
    description: describe(random, separateWords[isMale ? 0 : 1]),
  }
  const pet = {
    name: `${zipfWord(random)} ${zipfWord(random)}`,
    categoryId: BigInt(1 + Object.keys(species).indexOf(kind)),
    status: pickStatus(random),
  } as const
  return { pet, profile }
}
