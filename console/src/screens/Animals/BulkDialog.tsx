import { useRef, useState } from 'preact/hooks'
import { type Int64, type PetStatus, parseInt64 } from '../../../../client/src/index.ts'
import { petStatuses } from '../../../../src/pets/pet.ts'
import { categoryOptions } from '../../app/categories.ts'
import { formatCount, pluralize } from '../../app/format.ts'
import { showToast } from '../../app/toasts.ts'
import { Button } from '../../components/Button.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { SelectField, TextField } from '../../components/Field.tsx'
import { Name } from '../../components/Name.tsx'
import { Notice } from '../../components/Notice.tsx'
import { statusName } from '../../components/StatusChip.tsx'
import type { PetList } from './animalList.ts'
import { type BulkChange, type BulkFailure, changeAnimals } from './bulk.ts'

const locationLengthMax = 80
const failuresShown = 100

type Fields = { field: 'status' | 'category' | 'listed' | 'location'; value: string }

type BulkDialogProps = {
  list: PetList
  ids: readonly Int64[]
  /** Called with the animals that were not changed. */
  onDone(failed: readonly Int64[]): void
  onClose(): void
}

/** Changes several animals. Those that could not be changed are named with the reason, and can be tried again. */
export function BulkDialog({ list, ids, onDone, onClose }: BulkDialogProps) {
  const [fields, setFields] = useState<Fields>({ field: 'status', value: 'available' })
  const [failures, setFailures] = useState<readonly BulkFailure[]>([])
  const [progress, setProgress] = useState<{ done: number; total: number }>()
  const stop = useRef(new AbortController())
  async function submit() {
    if (progress) return
    const total = ids.length
    stop.current = new AbortController()
    setFailures([])
    setProgress({ done: 0, total })
    const failed = await changeAnimals(list, ids, changeOf(fields), {
      signal: stop.current.signal,
      onProgress: (done) => setProgress({ done, total }),
    })
    setProgress(undefined)
    setFailures(failed)
    onDone(failed.map(({ id }) => id))
    if (failed.length < total) showToast(`${pluralize(total - failed.length, 'animal')} changed.`)
    if (failed.length === 0) onClose()
  }
  return (
    <Dialog
      title={`Change ${pluralize(ids.length, 'animal')}`}
      onClose={onClose}
      isBusy={progress !== undefined}
      onSubmit={submit}
      actions={
        <>
          {progress ? (
            <Button onClick={() => stop.current.abort()}>Stop</Button>
          ) : (
            <Button onClick={onClose}>{failures.length > 0 ? 'Close' : 'Cancel'}</Button>
          )}
          <Button type="submit" kind="primary" isBusy={progress !== undefined}>
            {failures.length > 0 ? 'Try again' : 'Change'}
          </Button>
        </>
      }
    >
      {failures.length > 0 && <Failures failures={failures} />}
      {progress ? <Progress {...progress} /> : <ChangeFields fields={fields} onFields={setFields} />}
    </Dialog>
  )
}

function changeOf({ field, value }: Fields): BulkChange {
  if (field === 'status') return { status: value as PetStatus }
  if (field === 'category') return { categoryId: parseInt64(value) }
  return field === 'listed' ? { listed: value === 'true' } : { location: value.trim() || null }
}

const optionsOf = (field: Fields['field']) => {
  if (field === 'status') return petStatuses.map((value) => ({ value, label: statusName(value) }))
  if (field === 'category') return categoryOptions()
  return [
    { value: 'true', label: 'Listed' },
    { value: 'false', label: 'Not listed' },
  ]
}

type ChangeFieldsProps = { fields: Fields; onFields(fields: Fields): void }

function ChangeFields({ fields: { field, value }, onFields }: ChangeFieldsProps) {
  const choose = (next: Fields['field']) =>
    onFields({ field: next, value: next === 'location' ? '' : (optionsOf(next)[0]?.value ?? '') })
  const fieldOptions = [
    { value: 'status', label: 'Status' },
    ...(categoryOptions().length > 0 ? [{ value: 'category', label: 'Category' }] : []),
    { value: 'listed', label: 'Whether they are listed' },
    { value: 'location', label: 'Location' },
  ]
  return (
    <>
      <SelectField
        label="What to change"
        value={field}
        onValue={(next) => choose(next as Fields['field'])}
        options={fieldOptions}
      />
      {field === 'location' ? (
        <TextField
          label="New location"
          value={value}
          placeholder="Kennel 4"
          hint={`Only staff sees it. Up to ${locationLengthMax} characters. Empty text clears it.`}
          onValue={(text) => onFields({ field, value: text })}
        />
      ) : (
        <SelectField
          label="New value"
          value={value}
          onValue={(next) => onFields({ field, value: next })}
          options={optionsOf(field)}
        />
      )}
    </>
  )
}

const Progress = ({ done, total }: { done: number; total: number }) => (
  <div class="bulk-progress">
    <progress max={total} value={done} aria-label="Progress" />
    <p>
      {formatCount(done)} of {formatCount(total)}
    </p>
  </div>
)

const Failures = ({ failures }: { failures: readonly BulkFailure[] }) => (
  <Notice tone="danger">
    <p>
      <strong>{pluralize(failures.length, 'animal')} not changed</strong>
    </p>
    <ul class="bulk-failures">
      {failures.slice(0, failuresShown).map(({ id, name, reason }) => (
        <li key={String(id)}>
          <strong>
            <Name>{name}</Name>
          </strong>
          : {reason}
        </li>
      ))}
    </ul>
    {failures.length > failuresShown && <p>And {formatCount(failures.length - failuresShown)} more.</p>}
  </Notice>
)
