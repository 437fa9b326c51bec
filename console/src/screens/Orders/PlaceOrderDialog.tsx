import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Pet } from '../../../../client/src/index.ts'
import type { RequestError } from '../../app/errors.ts'
import { navigate, screenArgument } from '../../app/router.ts'
import { store } from '../../app/store.ts'
import { showToast } from '../../app/toasts.ts'
import { TextField } from '../../components/Field.tsx'
import { FormDialog, useForm } from '../../components/FormDialog.tsx'
import { FormError } from '../../components/FormError.tsx'
import { withNames } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { useFollowedPet } from '../Animals/useFollowedPet.ts'
import { keepEntries, takeEntries } from './orderEntries.ts'

type PlaceOrderDialogProps = { pet: Pet; onPlaced(pet: Pet): void; onClose(): void }

/** Reserves an animal for a customer. */
export function PlaceOrderDialog({ pet, onPlaced, onClose }: PlaceOrderDialogProps) {
  const [opened] = useState(pet)
  const [earlier] = useState(takeEntries)
  const [entries, setEntries] = useState({ name: '', email: '', note: '', ...earlier })
  const [nameError, setNameError] = useState<string>()
  const set = (changes: Partial<typeof entries>) => setEntries((current) => ({ ...current, ...changes }))
  const current = useFollowedPet(opened)
  const form = useForm(
    () => {
      if (loss !== undefined) chooseAnother()
      else setNameError(entries.name.trim() === '' ? 'Enter the name of the adopter.' : undefined)
      return loss === undefined && entries.name.trim() !== ''
    },
    async (submission) => {
      const [name, email, note] = [entries.name.trim(), entries.email.trim(), entries.note.trim()]
      const customer = { name, ...(email !== '' && { email }) }
      const body = { petId: pet.id, customer, ...(note !== '' && { note }) }
      const { id } = await store.orders.create(body, { submission })
      onPlaced({ ...pet, status: 'pending' })
      showToast(withNames`Order ${id} placed for ${pet.name}.`)
      onClose()
    },
  )
  const { error, isBusy } = form
  // The order of this dialog changes the animal too, also if its response is lost.
  const isUnknown = isBusy || (error !== undefined && (error.isOffline || error.status >= 500))
  const loss = isUnknown ? undefined : lossOf(error, current, opened)
  function chooseAnother() {
    keepEntries({ ...entries, petName: opened.name })
    onClose()
    // The list stays as it is filtered.
    if (screenArgument.peek() !== undefined) navigate('animals?status=available')
  }
  return (
    <FormDialog
      form={form}
      title={`Place an order for ${opened.name}`}
      text={
        loss === undefined
          ? 'The animal is held for the adopter until the order is approved or the hold expires.'
          : undefined
      }
      action={loss === undefined ? 'Place order' : 'Choose another animal'}
      onClose={onClose}
    >
      {loss !== undefined && (
        <Notice tone="danger">
          <p>{loss} The order was not placed.</p>
          <p>Nothing that you entered is lost: choose another animal, and its form is filled in with it.</p>
        </Notice>
      )}
      {loss === undefined && earlier && (
        <Notice>{withNames`Filled in with what you entered for ${earlier.petName}.`}</Notice>
      )}
      {loss === undefined && error?.code !== 'pet_unavailable' && (
        <FormError error={error} fields={['/customer/name', '/customer/email', '/note']} />
      )}
      <TextField
        label="Adopter"
        value={entries.name}
        onValue={(name) => set({ name })}
        error={nameError ?? error?.detail('/customer/name')}
        placeholder="Ada Example"
      />
      <TextField
        label="E-mail"
        type="email"
        isOptional
        value={entries.email}
        onValue={(email) => set({ email })}
        error={error?.detail('/customer/email')}
      />
      <TextField
        label="Note"
        isOptional
        isMultiline
        value={entries.note}
        onValue={(note) => set({ note })}
        error={error?.detail('/note')}
      />
    </FormDialog>
  )
}

/** Why the animal can no longer be ordered. Undefined if it can, also if it is available again. */
function lossOf(
  error: RequestError | undefined,
  current: Pet | 'removed',
  opened: Pet,
): ComponentChildren | undefined {
  const { name } = opened
  if (error?.code === 'pet_not_found' || current === 'removed')
    return withNames`A colleague has just removed ${name}.`
  if (current.status === 'sold') return withNames`A colleague has just marked ${name} as sold.`
  // What changed after the dialog was opened is known from an event, or only from the error.
  const isTaken = current === opened ? error?.code === 'pet_unavailable' : current.status !== 'available'
  return isTaken ? withNames`A colleague was faster: ${name} has just been reserved.` : undefined
}
