import { useState } from 'preact/hooks'
import { Button, IconButton } from '../../../components/Button.tsx'
import type { ControlProps } from './control.ts'
import { isSame } from './profileDraft.ts'

type Row = { readonly id: number; readonly name: string; readonly text: string }
type Attributes = Readonly<Record<string, string>>

let lastId = 0
const rowsOf = (attributes: Attributes): Row[] =>
  Object.entries(attributes).map(([name, text]) => ({ id: ++lastId, name, text }))
/** A row without a name is not saved yet. */
const attributesOf = (rows: readonly Row[]): Attributes =>
  Object.fromEntries(rows.flatMap(({ name, text }) => (name.trim() === '' ? [] : [[name.trim(), text]])))

/** Pairs of a name and a text. The rows stay as typed as long as they mean the current value. */
export function AttributesControl({ value, error, onValue }: ControlProps<Attributes>) {
  const [typed, setTyped] = useState(() => rowsOf(value))
  const rows = isSame(attributesOf(typed), value) ? typed : rowsOf(value)
  const change = (next: Row[]) => {
    setTyped(next)
    onValue(attributesOf(next))
  }
  const setRow = (row: Row) => change(rows.map((other) => (other.id === row.id ? row : other)))
  return (
    <div class="attributes">
      {rows.map((row, index) => (
        <div key={row.id} class="attribute">
          <input
            class="input"
            aria-label={`Name of detail ${index + 1}`}
            placeholder="Favourite toy"
            value={row.name}
            onInput={({ currentTarget }) => setRow({ ...row, name: currentTarget.value })}
          />
          <input
            class="input"
            aria-label={`Text of detail ${index + 1}`}
            placeholder="Squeaky duck"
            value={row.text}
            onInput={({ currentTarget }) => setRow({ ...row, text: currentTarget.value })}
          />
          <IconButton
            label={`Remove detail ${index + 1}`}
            icon="close"
            onClick={() => change(rows.filter(({ id }) => id !== row.id))}
          />
        </div>
      ))}
      {error !== undefined && <p class="field-error">{error}</p>}
      <Button
        size="small"
        icon="plus"
        onClick={() => setTyped([...rows, { id: ++lastId, name: '', text: '' }])}
      >
        Add detail
      </Button>
    </div>
  )
}
