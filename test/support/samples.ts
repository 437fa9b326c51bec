import { externalIdOf, sampleSource } from '../../src/commands/seed/sample.ts'
import { sampleAnimals } from '../../src/commands/seed/sampleAnimals.ts'

/** For an import: animals that count as all sample animals but these, so that `seed` draws only a few photos. */
export const samplesExcept = (...names: readonly string[]): string =>
  sampleAnimals
    .filter(({ name }) => !names.includes(name))
    .map((sample) => ({
      name: 'Present',
      categoryId: 1,
      externalId: externalIdOf(sample),
      source: sampleSource,
    }))
    .map((pet) => `${JSON.stringify(pet)}\n`)
    .join('')

/** What `seed` says as long as the adoption page is off. */
export const pageHint =
  'To show them on the web, turn on the adoption page: in the console, on the screen Store.\n'
