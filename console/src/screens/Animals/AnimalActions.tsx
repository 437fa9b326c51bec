import type { Pet } from '../../../../client/src/index.ts'
import { isPetTransitionAllowed, petStatuses } from '../../../../src/pets/pet.ts'
import { keepFocus } from '../../app/focus.ts'
import { hasScope } from '../../app/session.ts'
import { Button } from '../../components/Button.tsx'
import { Menu, type MenuItem } from '../../components/Menu.tsx'
import type { PetList } from './animalList.ts'
import { changeStatus, removePet } from './pets.ts'

/** The dialog that is open. */
export type OpenDialog = { kind: 'edit' | 'order'; pet: Pet } | { kind: 'add' | 'bulk' }

type AnimalActionsProps = {
  list: PetList
  pet: Pet
  /** The most frequent action has a button beside the menu. */
  hasButton?: boolean
  onDialog(dialog: OpenDialog): void
}

/** What can be done with one animal. */
export function AnimalActions({ list, pet, hasButton, onDialog }: AnimalActionsProps) {
  const canOrder = pet.status === 'available' && hasScope('orders:write')
  const items: MenuItem[] = []
  const order = () => onDialog({ kind: 'order', pet })
  if (canOrder) items.push({ label: 'Place order', onSelect: order })
  if (hasScope('pets:write')) {
    items.push({ label: 'Edit', onSelect: () => onDialog({ kind: 'edit', pet }) })
    for (const status of petStatuses)
      if (status !== pet.status && isPetTransitionAllowed(pet.status, status))
        items.push({ label: `Mark as ${status}`, onSelect: () => void changeStatus(list, pet, status) })
    const remove = () => {
      removePet(pet)
      keepFocus()
    }
    items.push({ label: 'Remove', isDanger: true, onSelect: remove })
  }
  return (
    <div class="row-actions">
      {hasButton && canOrder && (
        <Button size="small" class="wide" onClick={order}>
          Place order
        </Button>
      )}
      {items.length > 0 && <Menu label={`Actions for ${pet.name}`} items={items} />}
    </div>
  )
}
