import { signal } from '@preact/signals'
import {
  type Int64,
  type Pet,
  type PetStatus,
  parseInt64,
  type Submission,
} from '../../../../client/src/index.ts'
import { isAbort, toRequestError } from '../../app/errors.ts'
import { itemsMax } from '../../app/listPages.ts'
import { PagedList } from '../../app/pagedList.ts'
import { onSignOut } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'
import { showError } from '../../app/toasts.ts'
import { runWithUndo } from '../../app/undo.ts'
import { withNames } from '../../components/Name.tsx'
import { explain } from './messages.tsx'

/** What the Animals screen does: the list, its live changes, and changes that are shown before they are confirmed. */

type PetFilters = { status: PetStatus | ''; categoryId: string; id: string }

const pageSize = 100
/** As long as the animation of `.row-changed`. */
const highlightMs = 2_400

export type PetList = PagedList<Pet>
export type PetChange = Partial<Pick<Pet, 'name' | 'categoryId' | 'status'>>

/** Animals whose removal can still be undone. Every list hides them, also one with other filters. */
const removals = new Set<Int64>()
onSignOut(() => removals.clear())

/** The lists that are shown. */
const followed = new Set<PetList>()

/** Animals that have just changed. */
export const changedIds = signal<ReadonlySet<Int64>>(new Set())

export const createPetList = ({ status, categoryId, id }: PetFilters): PetList =>
  new PagedList<Pet>({
    pageSize,
    list(page, options) {
      const filters = {
        status: status || undefined,
        categoryId: categoryId === '' ? undefined : parseInt64(categoryId),
        id: id === '' ? undefined : [parseInt64(id)],
      }
      return store.pets.list({ ...page, ...filters }, options)
    },
    accepts: (pet) =>
      (status === '' || pet.status === status) &&
      (categoryId === '' || String(pet.categoryId) === categoryId) &&
      (id === '' || String(pet.id) === id),
    isHidden: (petId) => removals.has(petId),
  })

/** A search by name covers the animals in memory. It loads this many more pages on request. */
const searchPagesMax = 10
export const searchStep = searchPagesMax * pageSize

/** Pages are dropped from memory beyond that, so a search ends there. */
export const canSearchOlder = (list: PetList): boolean =>
  list.state.value === 'more' && list.size.value.loadedCount + pageSize <= itemsMax

export async function searchOlder(list: PetList): Promise<void> {
  for (let page = 0; page < searchPagesMax && canSearchOlder(list); page++) await list.loadMore()
}

/** Shows the animals that match, among those in memory, which are the newest without a gap. */
export function filterPets(list: PetList, matches: ((pet: Pet) => boolean) | undefined): void {
  const { length, loadedCount } = list.size.peek()
  // Pages were dropped from memory.
  if (matches && length > loadedCount) void list.reload()
  list.filter(matches)
}

/** Keeps the list current while it is shown. Returns a function that ends it. */
export function followPets(list: PetList): () => void {
  const end = followEvents(
    (event) => {
      if (event.type === 'pet.deleted') list.remove(event.data.id)
      else if (event.type === 'pet.created' || event.type === 'pet.updated') {
        list.upsert(event.data)
        highlight(event.data.id)
      }
    },
    () => void list.reload(),
  )
  followed.add(list)
  return () => {
    followed.delete(list)
    end()
  }
}

function highlight(id: Int64): void {
  changedIds.value = new Set(changedIds.value).add(id)
  setTimeout(() => {
    const rest = new Set(changedIds.value)
    rest.delete(id)
    changedIds.value = rest
  }, highlightMs)
}

type UpdateOptions = { ifMatch?: string | undefined }

/** Shows the change at once. If the API rejects it, the list shows the old values again, and the error is thrown. */
export async function updatePet(
  list: PetList,
  { id }: Pet,
  body: PetChange,
  { ifMatch }: UpdateOptions = {},
): Promise<void> {
  // An event that arrives before the response may be newer. The event of this change arrives as well.
  let hasEvent = false
  const end = followEvents(({ type, data }) => {
    if (type.startsWith('pet.') && data.id === id) hasEvent = true
  })
  list.change(id, body)
  try {
    const updated = await store.pets.update(id, body, { ifMatch })
    if (!hasEvent) for (const shown of followed) shown.upsert(updated)
    highlight(id)
  } finally {
    end()
    list.change(id, undefined)
  }
}

/** Animals whose status is being changed. */
const changing = new Set<Int64>()

export async function changeStatus(list: PetList, pet: Pet, status: PetStatus): Promise<void> {
  if (changing.has(pet.id)) return
  changing.add(pet.id)
  try {
    await updatePet(list, pet, { status })
  } catch (thrown) {
    if (isAbort(thrown)) return
    showError(explain(toRequestError(thrown), pet))
  } finally {
    changing.delete(pet.id)
  }
}

export async function createPet(body: Required<PetChange>, submission: Submission): Promise<void> {
  const created = await store.pets.create(body, { submission })
  for (const list of followed) list.upsert(created)
  highlight(created.id)
}

/** Hides the animal now, and removes it when the undo time ends. */
export function removePet(pet: Pet): void {
  const setHidden = (isHidden: boolean) => {
    if (isHidden) removals.add(pet.id)
    else removals.delete(pet.id)
    for (const list of followed) list.updateHidden()
  }
  async function sendRemoval(isLeaving: boolean) {
    try {
      await store.pets.delete(pet.id, { keepalive: isLeaving })
    } catch (thrown) {
      const error = toRequestError(thrown)
      if (error.code !== 'pet_not_found') {
        setHidden(false)
        showError([withNames`${pet.name} was not removed. `, explain(error, pet)])
        return
      }
    }
    for (const list of followed) list.remove(pet.id)
    setHidden(false)
  }
  setHidden(true)
  runWithUndo({
    text: withNames`${pet.name} removed.`,
    undo: () => setHidden(false),
    commit: (isLeaving) => void sendRemoval(isLeaving),
  })
}
