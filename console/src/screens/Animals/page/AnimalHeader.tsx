import { useState } from 'preact/hooks'
import type { Pet } from '../../../../../client/src/index.ts'
import { isPetTransitionAllowed, petStatuses } from '../../../../../src/pets/pet.ts'
import { categoryName } from '../../../app/categories.ts'
import { navigate } from '../../../app/router.ts'
import { hasScope } from '../../../app/session.ts'
import { Button } from '../../../components/Button.tsx'
import { DetailHeader } from '../../../components/DetailHeader.tsx'
import { LiveIndicator } from '../../../components/LiveIndicator.tsx'
import { Menu, type MenuItem } from '../../../components/Menu.tsx'
import { Name } from '../../../components/Name.tsx'
import { PlaceOrderDialog } from '../../Orders/PlaceOrderDialog.tsx'
import { AnimalDialog } from '../AnimalDialog.tsx'
import { type ChangeView, changeStatus, removePet } from '../pets.ts'

/** The page shows a change when it is made. */
const list: ChangeView = { change() {} }

export const parent = { path: 'animals', name: 'Animals' }

type AnimalHeaderProps = {
  pet: Pet
  /** It can still be changed. */
  isPresent: boolean
  onReload(): void
}

/** The name and the status of an animal, and what can be done with it. */
export function AnimalHeader({ pet, isPresent, onReload }: AnimalHeaderProps) {
  const [dialog, setDialog] = useState<'edit' | 'order'>()
  const canWrite = isPresent && hasScope('pets:write')
  const canOrder = isPresent && pet.status === 'available' && hasScope('orders:write')
  const close = () => {
    setDialog(undefined)
    onReload()
  }
  const remove = () => {
    removePet(pet)
    navigate(parent.path)
  }
  const items: MenuItem[] = [
    ...petStatuses
      .filter((status) => status !== pet.status && isPetTransitionAllowed(pet.status, status))
      .map((status) => ({
        label: `Mark as ${status}`,
        onSelect: () => void changeStatus(list, pet, status).then(onReload),
      })),
    { label: 'Remove', isDanger: true, onSelect: remove },
  ]
  return (
    <>
      <DetailHeader
        title={pet.name}
        parent={parent}
        status={pet.status}
        text={
          <span>
            <Name>{categoryName(pet.categoryId)}</Name> · Animal {String(pet.id)}
          </span>
        }
        actions={
          <>
            <LiveIndicator onRefresh={onReload} />
            {canWrite && <Button onClick={() => setDialog('edit')}>Edit name and status</Button>}
            {canOrder && (
              <Button kind="primary" onClick={() => setDialog('order')}>
                Place order
              </Button>
            )}
            {canWrite && <Menu label={`Actions for ${pet.name}`} items={items} />}
          </>
        }
      />
      {dialog === 'edit' && <AnimalDialog list={list} pet={pet} onClose={close} />}
      {dialog === 'order' && <PlaceOrderDialog pet={pet} onPlaced={onReload} onClose={close} />}
    </>
  )
}
