import type { ComponentChildren } from 'preact'
import { headersOf, type Int64, type PetStatus } from '../../../../client/src/index.ts'
import { isPetTransitionAllowed } from '../../../../src/pets/pet.ts'
import { toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { type Animal, toAnimal, withPet } from './animal.ts'
import { highlight, type PetList } from './animalList.ts'
import { explain } from './messages.tsx'

/** The same change of several animals, one after the other. */

export type BulkChange =
  | { status: PetStatus }
  | { categoryId: Int64 }
  | { listed: boolean }
  | { location: string | null }

export type BulkFailure = { readonly id: Int64; readonly name: string; readonly reason: ComponentChildren }

type BulkOptions = {
  /** Called with the number of animals that are done. */
  onProgress(done: number): void
  /** Ends it before the next animal. */
  signal: AbortSignal
}

/** The client waits for the end of a rate limit. */
const maxRetries = 3

/** Returns the animals that were not changed. */
export async function changeAnimals(
  list: PetList,
  ids: readonly Int64[],
  change: BulkChange,
  { onProgress, signal }: BulkOptions,
): Promise<BulkFailure[]> {
  const failures: BulkFailure[] = []
  for (const [index, id] of ids.entries()) {
    const name = list.find(id)?.name ?? `Animal ${id}`
    const reason = signal.aborted ? 'Stopped.' : await changeAnimal(list, id, change)
    if (reason !== undefined) failures.push({ id, name, reason })
    onProgress(index + 1)
  }
  return failures
}

/** Returns why the animal was not changed. */
async function changeAnimal(
  list: PetList,
  id: Int64,
  change: BulkChange,
): Promise<ComponentChildren | undefined> {
  const shown = list.find(id)
  try {
    const animal = shown?.etags
      ? shown
      : toAnimal(await store.listings.get(id, { view: 'staff' }, { maxRetries }))
    if (hasValues(animal, change)) return undefined
    if ('status' in change && !isPetTransitionAllowed(animal.status, change.status))
      return `A ${animal.status} animal cannot become ${change.status}.`
    list.upsert(await send(animal, change))
    highlight(id)
    return undefined
  } catch (thrown) {
    const error = toRequestError(thrown)
    if (error.code !== 'precondition_failed') return explain(error, { name: shown?.name ?? 'The animal' })
    // The next attempt reads it again.
    if (shown) list.upsert({ ...shown, etags: undefined })
    return 'Someone else has just changed this animal.'
  }
}

const hasValues = (animal: Animal, change: BulkChange): boolean =>
  Object.entries(change).every(([field, value]) => animal[field as keyof Animal] === value)

/** Returns the changed animal. */
async function send(animal: Animal, change: BulkChange): Promise<Animal> {
  const { id, etags } = animal
  if ('status' in change || 'categoryId' in change)
    return withPet(animal, await store.pets.update(id, change, { ifMatch: etags?.pet, maxRetries }))
  const updated = await store.pets.profile.update(id, change, { ifMatch: etags?.profile, maxRetries })
  const profile = headersOf(updated).get('etag')
  return { ...animal, ...change, etags: etags && profile !== null ? { ...etags, profile } : undefined }
}
