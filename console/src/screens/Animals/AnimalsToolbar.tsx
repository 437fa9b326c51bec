import { useId, useRef, useState } from 'preact/hooks'
import { petStatuses } from '../../../../src/pets/pet.ts'
import { ageGroups, sexes, sizes } from '../../../../src/profiles/profile.ts'
import { categoryOptions } from '../../app/categories.ts'
import { hasScope } from '../../app/session.ts'
import { isPhone } from '../../app/viewport.ts'
import { Button, IconButton } from '../../components/Button.tsx'
import { type Option, Select } from '../../components/Field.tsx'
import { Icon } from '../../components/Icon.tsx'
import { Segments } from '../../components/Segments.tsx'
import { statusName } from '../../components/StatusChip.tsx'
import {
  countFilters,
  type Filters,
  isFiltered,
  noFilters,
  speciesLengthMax,
  textLengthMax,
} from './filters.ts'
import type { ToolbarValues } from './useToolbar.ts'

type AnimalsToolbarProps = {
  values: ToolbarValues
  /** Suggestions for the species. */
  species: readonly string[]
  onChange(changes: Partial<ToolbarValues>): void
}

/** The search, the filters and the way in which animals are shown. */
export function AnimalsToolbar({ values, species, onChange }: AnimalsToolbarProps) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const searchField = useRef<HTMLInputElement>(null)
  const clearSearch = () => {
    onChange({ q: '' })
    searchField.current?.focus()
  }
  const count = countFilters(values)
  const clear = isFiltered(values) && (
    <Button kind="quiet" onClick={() => onChange(noFilters)}>
      Clear<span class="visually-hidden"> search and filters</span>
    </Button>
  )
  return (
    <search class="toolbar animals-toolbar">
      <div class="search">
        <Icon name="search" />
        <input
          ref={searchField}
          class="input"
          type="search"
          aria-label="Search animals"
          placeholder={`Name, breed, description, ${isPhone.value ? 'id' : 'intake number or id'}`}
          maxLength={textLengthMax}
          value={values.q}
          onInput={(event) => onChange({ q: event.currentTarget.value })}
        />
        {isPhone.value && values.q !== '' && (
          <IconButton label="Clear search" icon="close" onClick={clearSearch} />
        )}
      </div>
      {isPhone.value && (
        <Button icon="filter" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          Filters{count > 0 && ` (${count})`}
        </Button>
      )}
      {!isPhone.value && clear}
      <Segments
        label="Show as"
        class="animals-view"
        value={values.view}
        onValue={(view) => onChange({ view })}
        options={[
          { value: 'table', label: 'Table' },
          { value: 'gallery', label: 'Gallery' },
        ]}
      />
      <div id={id} class="filters" hidden={isPhone.value && !isOpen}>
        <FilterFields values={values} species={species} onChange={onChange} />
        {isPhone.value && clear}
      </div>
    </search>
  )
}

const named = (any: string, values: readonly string[]): Option[] => [
  { value: '', label: any },
  ...values.map((value) => ({ value, label: value === 'xlarge' ? 'Extra large' : statusName(value) })),
]

function FilterFields({ values, species, onChange }: AnimalsToolbarProps) {
  const id = useId()
  const select = (name: keyof Filters, label: string, options: readonly Option[]) => (
    <Select
      label={label}
      value={values[name]}
      onValue={(value) => onChange({ [name]: value })}
      options={options}
      isActive={values[name] !== ''}
    />
  )
  return (
    <>
      {select('status', 'Status', named('Any status', petStatuses))}
      {hasScope('categories:read') &&
        select('category', 'Category', [{ value: '', label: 'Any category' }, ...categoryOptions()])}
      <input
        class={`input ${values.species === '' ? '' : 'input-active'}`}
        list={id}
        aria-label="Species"
        placeholder="Any species"
        autocomplete="off"
        maxLength={speciesLengthMax}
        value={values.species}
        onInput={(event) => onChange({ species: event.currentTarget.value })}
      />
      <datalist id={id}>
        {species.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {select('sex', 'Sex', named('Any sex', sexes))}
      {select('age', 'Age', named('Any age', ageGroups))}
      {select('size', 'Size', named('Any size', sizes))}
      {hasScope('pets:write') &&
        select('listed', 'Listed', [
          { value: '', label: 'Listed or not' },
          { value: 'true', label: 'Listed' },
          { value: 'false', label: 'Not listed' },
        ])}
    </>
  )
}
