import { useEffect, useState } from 'preact/hooks'
import type { Int64 } from '../../../../client/src/index.ts'
import { formatCount } from '../../app/format.ts'
import { Button } from '../../components/Button.tsx'
import type { Animal } from './animal.ts'
import type { PetList } from './animalList.ts'
import './selection.css'

/** The animals that are chosen, to change them together. */

export type Selection = {
  readonly ids: ReadonlySet<Int64>
  /** Whether all animals in memory are chosen. */
  readonly isAll: boolean
  toggle(id: Int64, isSelected: boolean): void
  /** All animals in memory, or none. */
  toggleAll(isSelected: boolean): void
  set(ids: Iterable<Int64>): void
}

export function useSelection(list: PetList): Selection {
  const [ids, setIds] = useState<ReadonlySet<Int64>>(new Set())
  const set = (next: Iterable<Int64>) => setIds(new Set(next))
  // Another list has other animals.
  useEffect(() => set([]), [list])
  const { length } = list.size.value
  return {
    ids,
    isAll: length > 0 && ids.size >= length,
    toggle: (id, isSelected) => set(isSelected ? [...ids, id] : [...ids].filter((other) => other !== id)),
    toggleAll: (isSelected) => set(isSelected ? list.window().items.map(({ id }) => id) : []),
    set,
  }
}

export const SelectBox = ({ selection, animal }: { selection: Selection; animal: Animal }) => (
  <label class="select-box">
    <input
      type="checkbox"
      aria-label={`Select ${animal.name}`}
      checked={selection.ids.has(animal.id)}
      onChange={(event) => selection.toggle(animal.id, event.currentTarget.checked)}
    />
  </label>
)

export const SelectAll = ({ selection }: { selection: Selection }) => (
  <label class="select-box">
    <input
      type="checkbox"
      aria-label="Select all loaded animals"
      checked={selection.isAll}
      indeterminate={selection.ids.size > 0 && !selection.isAll}
      onChange={(event) => selection.toggleAll(event.currentTarget.checked)}
    />
  </label>
)

type SelectionBarProps = { selection: Selection; onChange(): void }

/** Before the animals in the document, so that it is near the filters by keyboard. It is shown at the bottom. */
export const SelectionBar = ({ selection, onChange }: SelectionBarProps) => (
  <section class="selection" aria-label="Selection" hidden={selection.ids.size === 0}>
    <strong role="status">{formatCount(selection.ids.size)} selected</strong>
    {!selection.isAll && (
      <Button size="small" kind="quiet" onClick={() => selection.toggleAll(true)}>
        Select all<span class="visually-hidden"> loaded</span>
      </Button>
    )}
    <Button size="small" kind="quiet" onClick={() => selection.set([])}>
      Clear<span class="visually-hidden"> selection</span>
    </Button>
    <Button size="small" kind="primary" onClick={onChange}>
      Change…
    </Button>
  </section>
)
