import { signal } from '@preact/signals'
import { call, send } from '../../api/client.ts'
import { toRequestError } from '../../api/errors.ts'
import { onEvent, onResync } from '../../api/stream.ts'
import type { Pet, PetStatus } from '../../api/types.ts'
import { PagedList } from '../../app/pagedList.ts'
import { onSignOut } from '../../app/session.ts'
import { showError } from '../../app/toasts.ts'
import { runWithUndo } from '../../app/undo.ts'
import { explain, named } from './messages.tsx'

/** What the Animals screen does: the list, its live changes, and changes that are shown before they are confirmed. */

export type PetFilters = { status: PetStatus | ''; categoryId: string; id: string }

const pageSize = 100
/** As long as the animation of `.row-changed`. */
const highlightMs = 2_400

export type PetList = PagedList<Pet>
export type PetChange = Partial<Pick<Pet, 'name' | 'categoryId' | 'status'>>

/** Animals whose removal can still be undone. They stay hidden when the screen is left and shown again. */
const removals = new Set<number>()
onSignOut(() => removals.clear())

/** Animals that have just changed. */
export const changedIds = signal<ReadonlySet<number>>(new Set())

export function createPetList({ status, categoryId, id }: PetFilters): PetList {
  const list = new PagedList<Pet>({
    async load(cursor, signal) {
      const query = { limit: pageSize, status: status || undefined, cursor }
      // As text: an id may be beyond 2^53.
      const texts = { categoryId, id: id === '' ? undefined : [id] } as unknown as {
        categoryId?: number
        id?: number[]
      }
      const { data, nextCursor } = await send('listPets', { query: { ...query, ...texts }, signal })
      return { data: data as Pet[], nextCursor }
    },
    accepts: (pet) =>
      (status === '' || pet.status === status) &&
      (categoryId === '' || String(pet.categoryId) === categoryId) &&
      (id === '' || String(pet.id) === id),
  })
  for (const petId of removals) list.hide(petId)
  return list
}

/** Keeps the list current while it is shown. Returns a function that ends it. */
export function followPets(list: PetList): () => void {
  const ends = [
    onEvent((event) => {
      if (event.type === 'pet.deleted') list.remove(event.data.id)
      else if (event.type === 'pet.created' || event.type === 'pet.updated') {
        list.upsert(event.data as Pet)
        highlight(event.data.id)
      }
    }),
    onResync(() => void list.reload()),
  ]
  return () => {
    for (const end of ends) end()
  }
}

function highlight(id: number): void {
  changedIds.value = new Set(changedIds.value).add(id)
  setTimeout(() => {
    const rest = new Set(changedIds.value)
    rest.delete(id)
    changedIds.value = rest
  }, highlightMs)
}

/** Shows the change at once. If the API rejects it, the list shows the old values again, and the error is thrown. */
export async function updatePet(list: PetList, pet: Pet, changes: PetChange): Promise<void> {
  list.change(pet.id, changes)
  try {
    list.upsert((await call('updatePet', { params: { petId: pet.id }, body: changes })) as Pet)
    highlight(pet.id)
  } finally {
    list.change(pet.id, undefined)
  }
}

export async function changeStatus(list: PetList, pet: Pet, status: PetStatus): Promise<void> {
  try {
    await updatePet(list, pet, { status })
  } catch (error) {
    showError(explain(toRequestError(error), pet))
  }
}

export async function createPet(list: PetList, pet: Required<PetChange>): Promise<Pet> {
  const created = (await call('createPet', { body: pet })) as Pet
  list.upsert(created)
  highlight(created.id)
  return created
}

/** Hides the animal now, and removes it when the undo time ends. */
export function removePet(list: PetList, pet: Pet): void {
  const show = () => {
    removals.delete(pet.id)
    list.hide(pet.id, false)
  }
  async function sendRemoval(isLeaving: boolean) {
    try {
      await call('deletePet', { params: { petId: pet.id }, keepalive: isLeaving })
    } catch (thrown) {
      const error = toRequestError(thrown)
      if (error.code !== 'pet_not_found') {
        show()
        showError([named(pet.name, 'was not removed.'), ' ', explain(error, pet)])
        return
      }
    }
    list.remove(pet.id)
    show()
  }
  removals.add(pet.id)
  list.hide(pet.id)
  runWithUndo({
    text: named(pet.name, 'removed.'),
    undo: show,
    commit: (isLeaving) => void sendRemoval(isLeaving),
  })
}
