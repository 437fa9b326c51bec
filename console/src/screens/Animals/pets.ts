import type { Int64, Pet, PetStatus, Submission } from '../../../../client/src/index.ts'
import { isAbort, toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'
import { showError } from '../../app/toasts.ts'
import { runWithUndo } from '../../app/undo.ts'
import { withNames } from '../../components/Name.tsx'
import { highlight, putPet, removals, shownLists } from './animalList.ts'
import { explain } from './messages.tsx'

/** Changes of animals, which are shown before they are confirmed. */

export type PetChange = Partial<Pick<Pet, 'name' | 'categoryId' | 'status'>>

/** What shows a change that is not confirmed yet. */
export type ChangeView = { change(id: Int64, changes: PetChange | undefined): void }

type UpdateOptions = { ifMatch?: string | undefined }

/** Shows the change at once. If the API rejects it, the list shows the old values again, and the error is thrown. */
export async function updatePet(
  list: ChangeView,
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
    if (!hasEvent) for (const shown of shownLists) putPet(shown, updated)
    highlight(id)
  } finally {
    end()
    list.change(id, undefined)
  }
}

/** Animals whose status is being changed. */
const changing = new Set<Int64>()

export async function changeStatus(list: ChangeView, pet: Pet, status: PetStatus): Promise<void> {
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

export const createPet = (body: Required<PetChange>, submission: Submission): Promise<Pet> =>
  store.pets.create(body, { submission })

/** Hides the animal now, and removes it when the undo time ends. */
export function removePet(pet: Pet): void {
  const setHidden = (isHidden: boolean) => {
    if (isHidden) removals.add(pet.id)
    else removals.delete(pet.id)
    for (const list of shownLists) list.updateHidden()
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
    for (const list of shownLists) list.remove(pet.id)
    setHidden(false)
  }
  setHidden(true)
  runWithUndo({
    text: withNames`${pet.name} removed.`,
    undo: () => setHidden(false),
    commit: (isLeaving) => void sendRemoval(isLeaving),
  })
}
