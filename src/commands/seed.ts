import { actorText } from '../actor.ts'
import { ensureCategory, findCategory, updateCategory } from '../categories/queries.ts'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import { type PetStatus, petStatuses } from '../pets/pet.ts'
import { createPets } from '../pets/storedPets.ts'
import { counted, parseInteger, printResult } from './cli.ts'
import { withDatabase } from './database.ts'
import type { Call } from './interface/define.ts'
import { interruptible } from './interruption.ts'
import { Progress } from './output/progress.ts'

const countMax = 100_000_000
/** Small enough to be written well within the time limit of a commit, even over a slow network. */
const rowsPerWrite = 5_000

const categories = ['Dogs', 'Cats', 'Rabbits', 'Guinea pigs', 'Birds', 'Tortoises']
const names = 'Milo Luna Biscuit Olive Pepper Hazel Ziggy Clover Mango Poppy Rusty Willow'.split(' ')
const surnames = ['', ' the Brave', ' of the Barn', ' Junior', ' Whiskers', ' Longears', ' Brightfeather']

export async function run({ env, options }: Call<{ readonly count?: string }>): Promise<void> {
  const count = parseInteger('count', options.count, 1, countMax)
  if (count !== undefined) return addMany(env, count, options.json)
  // On demand, because it loads the library for images.
  const { addSamples } = await import('./seed/addSamples.ts')
  await addSamples(env, options.json)
}

/** Adds many animals without profiles and photos. */
async function addMany(env: NodeJS.ProcessEnv, count: number, isJson: boolean | undefined): Promise<void> {
  let added = 0
  const addAll = async (database: Database, signal: AbortSignal) => {
    using progress = new Progress('Adding')
    await database.write(nameCategories)
    while (added < count) {
      signal.throwIfAborted()
      const length = Math.min(rowsPerWrite, count - added)
      const pets = Array.from({ length }, (_, index) => samplePet(added + index))
      await database.write((trx) => {
        trx.actor = actorText({ command: 'seed' })
        return createPets(trx, pets, systemClock())
      })
      added += length
      // After each batch, so that the next reader of the feed does not wait for all of them.
      await database.readableThrough()
      progress.show(added, 'animals', added / count)
    }
  }
  await interruptible(
    () => `${added} of ${counted(count, 'animal')} were added`,
    (signal) => withDatabase(env, (database) => addAll(database, signal), { mayCreate: true }),
  )
  printResult(isJson, { added: count }, `Added ${counted(count, 'animal')}.`)
}

/** Deterministic: every run adds the same animals. */
const samplePet = (index: number) => ({
  name: `${names[index % names.length]}${surnames[Math.floor(index / names.length) % surnames.length]}`,
  categoryId: BigInt((index % categories.length) + 1),
  // Of ten pets seven are available, two pending and one sold.
  status: petStatuses[index % 10 < 7 ? 0 : index % 10 < 9 ? 1 : 2] as PetStatus,
})

async function nameCategories(trx: Trx): Promise<void> {
  for (const [index, name] of categories.entries()) {
    const id = BigInt(index + 1)
    const now = systemClock()
    await ensureCategory(trx, id, now)
    if ((await findCategory(trx, id))?.name === undefined) await updateCategory(trx, { id, name }, now)
  }
}
