import sharp from 'sharp'
import { actorText } from '../../actor.ts'
import { createCategory } from '../../categories/queries.ts'
import { systemClock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../database/database.ts'
import type { Db, Trx } from '../../database/db.ts'
import { type OrderStatus, petStatusForOrder } from '../../orders/order.ts'
import { placeOrder, updateOrderStatus } from '../../orders/queries.ts'
import { findPetsOf } from '../../pets/importPets.ts'
import type { Pet } from '../../pets/pet.ts'
import { createPet, lockExternalIds } from '../../pets/queries.ts'
import { decodePhoto } from '../../photos/decode.ts'
import type { DecodedPhoto } from '../../photos/photo.ts'
import { addPhoto } from '../../photos/queries.ts'
import { recordProfileUpdates, replaceBonds, saveProfile } from '../../profiles/queries.ts'
import { findStoreProfile } from '../../store/queries.ts'
import { counted, printResult } from '../cli.ts'
import { listOf } from '../counts.ts'
import { withDatabase } from '../database.ts'
import { interruptible } from '../interruption.ts'
import { Progress } from '../output/progress.ts'
import { drawPhoto, placeOf } from './drawPhoto.ts'
import { categoryOf, externalIdOf, lookOf, profileOf, type SampleAnimal, sampleSource } from './sample.ts'
import { sampleAnimals } from './sampleAnimals.ts'

// Only this command reads SVG, and only its own. The process that decodes uploads does not load this file.
sharp.unblock({ operation: ['VipsForeignLoadSvgBuffer'] })

/** Adds the sample animals that are not there, each with its photos and its order in one transaction. */
export async function addSamples(env: NodeJS.ProcessEnv, isJson: boolean | undefined): Promise<void> {
  const added = { added: 0, photos: 0, orders: 0 }
  let isPageOn = false
  const addAll = async (database: Database, { orderHoldMs }: Config, signal: AbortSignal) => {
    using progress = new Progress('Adding')
    isPageOn = (await findStoreProfile(database.read)).adoptionPage
    const present = await findSamples(database.read)
    const missing = sampleAnimals.filter((sample) => !present.has(externalIdOf(sample)))
    for (const [index, sample] of missing.toReversed().entries()) {
      signal.throwIfAborted()
      progress.show(index, 'animals', index / missing.length)
      const photos = await Promise.all(sample.photos.map((_, at) => makePhoto(sample, at)))
      const isAdded = await database.write((trx) => addSample(trx, sample, photos, orderHoldMs))
      await database.readableThrough()
      if (!isAdded) continue
      added.added++
      added.photos += photos.length
      if (sample.order) added.orders++
    }
  }
  const describe = () =>
    listOf([counted(added.added, 'animal'), counted(added.photos, 'photo'), counted(added.orders, 'order')])
  await interruptible(
    () => `${describe()} were added`,
    (signal) =>
      withDatabase(env, (database, config) => addAll(database, config, signal), { mayCreate: true }),
  )
  const sentence =
    added.added === 0
      ? 'The sample animals are there already. Nothing was added.'
      : `Added ${describe()}. The photos are drawings.`
  const page = isPageOn
    ? 'The adoption page, /adopt, shows them.'
    : 'To show them on the web, turn on the adoption page: in the console, on the screen Store.'
  printResult(isJson, added, `${sentence}\n${page}`)
}

type Photo = { readonly decoded: DecodedPhoto; readonly alt: string }

async function makePhoto(sample: SampleAnimal, index: number): Promise<Photo> {
  const shot = sample.photos[index] as SampleAnimal['photos'][number]
  const friend = shot.endsWith(' friend') ? sampleNamed(sample.bondedWith) : undefined
  const svg = drawPhoto(lookOf(sample), shot, friend && lookOf(friend))
  const names = friend ? `${sample.name} and ${friend.name}` : sample.name
  return { decoded: await decodePhoto(Buffer.from(svg)), alt: `Drawing of ${names} ${placeOf(shot)}` }
}

const sampleNamed = (name: string | undefined) => sampleAnimals.find((sample) => sample.name === name)

/** The ids of the stored sample animals, by external id. */
async function findSamples(db: Db): Promise<Map<string, number>> {
  const names = sampleAnimals.map((sample) => ({ externalId: externalIdOf(sample), source: sampleSource }))
  return new Map((await findPetsOf(db, names)).map(({ id, externalId }) => [externalId ?? '', id]))
}

/** Returns false if the animal is there already. */
async function addSample(trx: Trx, sample: SampleAnimal, photos: readonly Photo[], holdMs: number) {
  trx.actor = actorText({ command: 'seed' })
  const now = systemClock()
  await lockExternalIds(trx)
  const present = await findSamples(trx)
  if (present.has(externalIdOf(sample))) return false
  const categoryId = await categoryNamed(trx, categoryOf(sample), now)
  const pet = await createPet(trx, { name: sample.name, categoryId }, now)
  await saveProfile(trx, pet.id, profileOf(sample, now))
  const friend = sampleNamed(sample.bondedWith)
  const friendId = friend && present.get(externalIdOf(friend))
  const bonds = friendId === undefined ? [] : await replaceBonds(trx, pet.id, [friendId])
  await recordProfileUpdates(trx, [pet.id, ...bonds], now)
  for (const [position, { decoded, alt }] of photos.entries())
    await addPhoto(trx, pet.id, position, decoded, now, { alt })
  if (sample.order) await addOrder(trx, pet, sample.order, holdMs, now)
  return true
}

/** The category with this name, which is created if there is none. */
async function categoryNamed(trx: Trx, name: string, now: number): Promise<bigint> {
  const found = await trx
    .selectFrom('categories')
    .select('category_id')
    .where('name', '=', name)
    .orderBy('category_id')
    .executeTakeFirst()
  return found?.category_id ?? (await createCategory(trx, name, now)).id
}

/** What happens to an order until it has each status. */
const steps: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  placed: [],
  approved: ['approved'],
  delivered: ['approved', 'delivered'],
  cancelled: ['cancelled'],
}

async function addOrder(
  trx: Trx,
  pet: Pet,
  { status, customer, note }: NonNullable<SampleAnimal['order']>,
  holdMs: number,
  now: number,
): Promise<void> {
  const email = `${customer.toLowerCase().replace(' ', '.')}@example.org`
  const placed = await placeOrder(trx, pet, { customer: { name: customer, email }, note, holdMs }, now)
  let changed: Awaited<ReturnType<typeof updateOrderStatus>> = {
    order: placed,
    pet: { ...pet, status: petStatusForOrder.placed },
  }
  for (const next of steps[status])
    changed = await updateOrderStatus(trx, changed.order, changed.pet, next, now)
}
