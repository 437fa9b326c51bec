import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { type RequestError, toRequestError } from '../../api/errors.ts'
import type { Pet } from '../../api/types.ts'
import { showToast } from '../../app/toasts.ts'
import { Button } from '../../components/Button.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { TextField } from '../../components/Field.tsx'
import { Notice } from '../../components/Notice.tsx'

type PlaceOrderDialogProps = { pet: Pet; onPlaced(pet: Pet): void; onClose(): void }

/** Reserves an animal for a customer. */
export function PlaceOrderDialog({ pet, onPlaced, onClose }: PlaceOrderDialogProps) {
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [note, setNote] = useState('')
  const [nameError, setNameError] = useState<string>()
  const [error, setError] = useState<RequestError>()
  const [isBusy, setBusy] = useState(false)
  const isGone = error?.code === 'pet_unavailable' || error?.code === 'pet_not_found'

  async function submit() {
    if (isBusy || isGone) return
    setNameError(name.trim() === '' ? 'Enter the name of the adopter.' : undefined)
    if (name.trim() === '') return
    setBusy(true)
    setError(undefined)
    try {
      const customer = { name: name.trim(), ...(email.trim() !== '' && { email: email.trim() }) }
      const body = { petId: pet.id, customer, ...(note.trim() !== '' && { note: note.trim() }) }
      const order = await call('createOrder', { body })
      onPlaced({ ...pet, status: 'pending' })
      showToast(`Order ${order.id} placed for ${pet.name}.`, { tone: 'success' })
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
        isGone
          ? undefined
          : 'The animal is held for the adopter until the order is approved or the hold expires.'
      }
      onClose={onClose}
      onSubmit={() => void submit()}
      actions={
        isGone ? (
          <Button kind="primary" onClick={onClose}>
            Choose another animal
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="primary" type="submit" isBusy={isBusy}>
              Place order
            </Button>
          </>
        )
      }
    >
      {error && error.details.length === 0 && <Notice tone="danger">{explain(error)}</Notice>}
      {!isGone && (
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

function explain(error: RequestError): string {
  if (error.code === 'pet_unavailable') return 'Someone else reserved this animal first.'
  if (error.code === 'pet_not_found') return 'Someone else has removed this animal.'
  return error.message
}
