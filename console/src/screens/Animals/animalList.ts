import { signal } from '@preact/signals'
import type { Int64, Pet } from '../../../../client/src/index.ts'
import { toRequestError } from '../../app/errors.ts'
import { idInAddress, isId } from '../../app/ids.ts'
import type { ListOptions, LoadedPage } from '../../app/listTypes.ts'
import { PagedList } from '../../app/pagedList.ts'
import { onSignOut } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { type Animal, toAnimal, withAnimal, withPet } from './animal.ts'
import { type Filters, meetsFilters, queryOf, viewQuery } from './filters.ts'

/** The list of the Animals screen. */

export const pageSize = 100
/** As long as the animation of `.row-changed`. */
const highlightMs = 2_400

export type PetList = PagedList<Animal>

/** Animals whose removal can still be undone. Every list hides them, also one with other filters. */
export const removals = new Set<Int64>()
onSignOut(() => removals.clear())

/** The lists that are shown. */
export const shownLists = new Set<PetList>()

/** Animals that have just changed. */
export const changedIds = signal<ReadonlySet<Int64>>(new Set())

export function highlight(id: Int64): void {
  changedIds.value = new Set(changedIds.value).add(id)
  setTimeout(() => {
    const rest = new Set(changedIds.value)
    rest.delete(id)
    changedIds.value = rest
  }, highlightMs)
}

export const createAnimalList = (filters: Filters): PetList =>
  new PagedList<Animal>({
    pageSize,
    list: (page, options) => ({ page: () => loadPage(filters, page, options) }),
    accepts: (animal) => meetsFilters(animal, filters),
    isHidden: (petId) => removals.has(petId),
  })

type PageQuery = Parameters<ListOptions<Animal>['list']>[0]
type PageOptions = Parameters<ListOptions<Animal>['list']>[1]

/** Digits are the id of an animal, or words such as an intake number. */
async function loadPage(
  filters: Filters,
  page: PageQuery,
  options: PageOptions,
): Promise<LoadedPage<Animal>> {
  const isFirst = page.cursor === undefined
  const found = isFirst && isId(filters.q.trim()) ? await findById(filters, options) : undefined
  const words = store.listings.list({ ...page, ...queryOf(filters) }, options).page()
  const { items, nextCursor } = await words.catch((thrown: unknown) => {
    if (found) return { items: [], nextCursor: undefined }
    throw thrown
  })
  const animals = items.map(toAnimal)
  if (!found) return { items: animals, nextCursor }
  // The order is that of the ids, so the animal may belong to a later page.
  if (nextCursor !== undefined) return { items: [found], nextCursor: undefined }
  return { items: withAnimal(animals, found), nextCursor }
}

async function findById(filters: Filters, options: PageOptions): Promise<Animal | undefined> {
  try {
    const animal = toAnimal(await store.listings.get(idInAddress(filters.q.trim()), viewQuery(), options))
    return meetsFilters(animal, filters) ? animal : undefined
  } catch (thrown) {
    if (toRequestError(thrown).status === 404) return undefined
    throw thrown
  }
}

/** Takes over a change of the name, the category or the status. */
export function putPet(list: PetList, pet: Pet): void {
  const animal = list.find(pet.id)
  if (animal) list.upsert(withPet(animal, pet))
}
