import type { PetStatus } from '../../../../client/src/index.ts'
import { petStatuses } from '../../../../src/pets/pet.ts'
import { categoryOptions } from '../../app/categories.ts'
import { hasScope } from '../../app/session.ts'
import { Select } from '../../components/Field.tsx'
import { Icon } from '../../components/Icon.tsx'
import { statusName } from '../../components/StatusChip.tsx'

export type ToolbarValues = { status: PetStatus | ''; categoryId: string; text: string }

type AnimalsToolbarProps = { values: ToolbarValues; onChange(changes: Partial<ToolbarValues>): void }

export const AnimalsToolbar = ({ values, onChange }: AnimalsToolbarProps) => (
  <search class="toolbar">
    <div class="search">
      <Icon name="search" />
      <input
        class="input"
        type="search"
        aria-label="Search by name or id"
        placeholder="Search by name or id"
        value={values.text}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
    </div>
    <Select
      label="Status"
      value={values.status}
      onValue={(status) => onChange({ status: status as PetStatus | '' })}
      options={[
        { value: '', label: 'All statuses' },
        ...petStatuses.map((status) => ({ value: status, label: statusName(status) })),
      ]}
    />
    {hasScope('categories:read') && (
      <Select
        label="Category"
        value={values.categoryId}
        onValue={(categoryId) => onChange({ categoryId })}
        options={[{ value: '', label: 'All categories' }, ...categoryOptions()]}
      />
    )}
  </search>
)
