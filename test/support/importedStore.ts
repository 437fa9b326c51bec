import { fileURLToPath } from 'node:url'
import { lines } from './commands.ts'

/** A file in the format of another system. */
export const importFixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/imports/${name}.csv`, import.meta.url))

/** What an export says about an animal, by its name. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape.
type Stored = { pet: any; profile: any; photos: any[] }

/** The animals of a store with their profiles and photos, by name. */
export async function animalsIn(cli: { export(): Promise<string> }): Promise<Record<string, Stored>> {
  const records = lines(await cli.export()).map((line) => JSON.parse(line))
  const ofType = (type: string) => records.filter((record) => record.type === type)
  return Object.fromEntries(
    ofType('pet').map((pet) => [
      pet.name,
      {
        pet,
        profile: ofType('profile').find(({ id }) => id === pet.id),
        photos: ofType('photo')
          .filter(({ petId }) => petId === pet.id)
          .sort((a, b) => a.position - b.position),
      },
    ]),
  )
}

export const categoriesIn = async (cli: { export(): Promise<string> }): Promise<[number, string][]> =>
  lines(await cli.export())
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'category')
    .map(({ id, name }) => [id, name])
