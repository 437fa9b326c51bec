import { useState } from 'preact/hooks'
import { call, Submission } from '../../api/client.ts'
import { type RequestError, toRequestError } from '../../api/errors.ts'
import type { Pet } from '../../api/types.ts'
import { showToast } from '../../app/toasts.ts'
import { Button } from '../../components/Button.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { TextField } from '../../components/Field.tsx'
import { FormError } from '../../components/FormError.tsx'
import { Name } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { useFollowedPet } from '../Animals/useFollowedPet.ts'

type PlaceOrderDialogProps = { pet: Pet; onPlaced(pet: Pet): void; onClose(): void }

/** Reserves an animal for a customer. */
export function PlaceOrderDialog({ pet, onPlaced, onClose }: PlaceOrderDialogProps) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [note, setNote] = useState('')
  const [nameError, setNameError] = useState<string>()
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)
  const [submission] = useState(() => new Submission())
  const current = useFollowedPet(pet)
  // The order of this dialog changes the animal too.
  const lost = lostReason(error, isBusy ? pet : current)

  async function submit() {
    if (isBusy || lost !== undefined) return
    setNameError(name.trim() === '' ? 'Enter the name of the adopter.' : undefined)
    if (name.trim() === '') return
    setBusy(true)
    setError(undefined)
    try {
      const customer = { name: name.trim(), ...(email.trim() !== '' && { email: email.trim() }) }
      const body = { petId: pet.id, customer, ...(note.trim() !== '' && { note: note.trim() }) }
      const order = await call('createOrder', { body, submission })
      onPlaced({ ...pet, status: 'pending' })
      showToast(
        <>
          Order {String(order.id)} placed for <Name>{pet.name}</Name>.
        </>,
      )
      onClose()
    } catch (thrown) {
      setError(toRequestError(thrown))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={`Place an order for ${pet.name}`}
      text={
        lost !== undefined
          ? undefined
          : 'The animal is held for the adopter until the order is approved or the hold expires.'
      }
      onClose={onClose}
      isBusy={isBusy}
      onSubmit={submit}
      actions={
        lost !== undefined ? (
          <Button kind="primary" onClick={onClose}>
            Choose another animal
          </Button>
        ) : (
          <>
            <Button onClick={onClose} disabled={isBusy}>
              Cancel
            </Button>
            <Button kind="primary" type="submit" isBusy={isBusy}>
              Place order
            </Button>
          </>
        )
      }
    >
      {lost !== undefined && <Notice tone="danger">{lost}</Notice>}
      {lost === undefined && (
        <FormError error={error} fields={['/customer/name', '/customer/email', '/note']} />
      )}
      {lost === undefined && (
        <>
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
    </Dialog>
  )
}

/** Why the animal can no longer be ordered. Undefined if it can. */
function lostReason(error: RequestError | undefined, current: Pet | 'removed'): string | undefined {
  if (error?.code === 'pet_not_found' || current === 'removed') return 'Someone else has removed this animal.'
  if (error?.code === 'pet_unavailable' || current.status !== 'available')
    return 'Someone else reserved this animal first.'
  return undefined
}
