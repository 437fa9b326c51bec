import { useState } from 'preact/hooks'
import type { Pet } from '../../../../client/src/index.ts'
import type { RequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { TextField } from '../../components/Field.tsx'
import { FormDialog, useForm } from '../../components/FormDialog.tsx'
import { FormError } from '../../components/FormError.tsx'
import { withNames } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { useFollowedPet } from '../Animals/useFollowedPet.ts'

type PlaceOrderDialogProps = { pet: Pet; onPlaced(pet: Pet): void; onClose(): void }

/** Reserves an animal for a customer. */
export function PlaceOrderDialog({ pet, onPlaced, onClose }: PlaceOrderDialogProps) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [note, setNote] = useState('')
  const [nameError, setNameError] = useState<string>()
  const current = useFollowedPet(pet)
  const form = useForm(
    () => {
      setNameError(name.trim() === '' ? 'Enter the name of the adopter.' : undefined)
      return name.trim() !== '' && lost === undefined
    },
    async (submission) => {
      const customer = { name: name.trim(), ...(email.trim() !== '' && { email: email.trim() }) }
      const body = { petId: pet.id, customer, ...(note.trim() !== '' && { note: note.trim() }) }
      const { id } = await store.orders.create(body, { submission })
      onPlaced({ ...pet, status: 'pending' })
      showToast(withNames`Order ${id} placed for ${pet.name}.`)
      onClose()
    },
  )
  const { error, isBusy } = form
  // The order of this dialog changes the animal too.
  const lost = lostReason(error, isBusy ? pet : current)
  return (
    <FormDialog
      form={form}
      title={`Place an order for ${pet.name}`}
      text={
        lost === undefined
          ? 'The animal is held for the adopter until the order is approved or the hold expires.'
          : undefined
      }
      action={lost === undefined ? 'Place order' : undefined}
      {...(lost !== undefined && { closeName: 'Choose another animal' })}
      onClose={onClose}
    >
      {lost !== undefined ? (
        <Notice tone="danger">{lost}</Notice>
      ) : (
        <>
          <FormError error={error} fields={['/customer/name', '/customer/email', '/note']} />
          <TextField
            label="Adopter"
            value={name}
            onValue={setName}
            error={nameError ?? error?.detail('/customer/name')}
            placeholder="Ada Example"
          />
          <TextField
            label="E-mail"
            type="email"
            isOptional
            value={email}
            onValue={setEmail}
            error={error?.detail('/customer/email')}
          />
          <TextField
            label="Note"
            isOptional
            isMultiline
            value={note}
            onValue={setNote}
            error={error?.detail('/note')}
          />
        </>
      )}
    </FormDialog>
  )
}

/** Why the animal can no longer be ordered. Undefined if it can. */
function lostReason(error: RequestError | undefined, current: Pet | 'removed'): string | undefined {
  if (error?.code === 'pet_not_found' || current === 'removed') return 'Someone else has removed this animal.'
  if (error?.code === 'pet_unavailable' || current.status !== 'available')
    return 'Someone else reserved this animal first.'
  return undefined
}
