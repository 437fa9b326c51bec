import type { ComponentChildren } from 'preact'
import { categoryName } from '../../app/categories.ts'
import { isPrinting } from '../../app/printing.ts'
import { hrefOf } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { isPhone } from '../../app/viewport.ts'
import { Name } from '../../components/Name.tsx'
import { PagedTable } from '../../components/PagedTable.tsx'
import { StatusChip } from '../../components/StatusChip.tsx'
import type { Column } from '../../components/VirtualTable.tsx'
import { AnimalActions, type OpenDialog } from './AnimalActions.tsx'
import { AnimalPhoto } from './AnimalPhoto.tsx'
import { type Animal, detailsOf } from './animal.ts'
import { changedIds, type PetList } from './animalList.ts'
import { SelectAll, SelectBox, type Selection } from './selection.tsx'

export type AnimalsViewProps = {
  list: PetList
  selection: Selection
  /** Instead of a view without animals. */
  empty: ComponentChildren
  onDialog(dialog: OpenDialog): void
}

export const AnimalsTable = ({ list, empty, ...props }: AnimalsViewProps) => (
  <PagedTable
    list={list}
    noun="animal"
    columns={columnsFor({ list, ...props })}
    empty={empty}
    rowClass={({ id }) =>
      `${changedIds.value.has(id) ? 'row-changed' : ''} ${props.selection.ids.has(id) ? 'row-selected' : ''}`
    }
  />
)

const columnsFor = ({ list, selection, onDialog }: Omit<AnimalsViewProps, 'empty'>): Column<Animal>[] => [
  ...(hasScope('pets:write') ? [selectColumn(selection)] : []),
  { name: 'Name', render: (animal) => <NameCell animal={animal} /> },
  {
    name: 'Category',
    width: '18%',
    isHiddenOnPhone: true,
    render: ({ categoryId }) => <span title={categoryName(categoryId)}>{categoryName(categoryId)}</span>,
  },
  {
    name: 'Id',
    width: '6rem',
    isHiddenOnTablet: true,
    render: ({ id }) => <span class="muted">{String(id)}</span>,
  },
  // On a phone it is below the name, which needs the room. Paper has the room.
  ...(isPhone.value && !isPrinting.value ? [] : [statusColumn]),
  {
    name: 'Actions',
    isNameHidden: true,
    isNumeric: true,
    width: 'var(--actions-width)',
    render: (animal) => <AnimalActions list={list} pet={animal} hasButton onDialog={onDialog} />,
  },
]

const selectColumn = (selection: Selection): Column<Animal> => ({
  name: 'Select',
  isNameHidden: true,
  width: 'var(--select-width)',
  head: <SelectAll selection={selection} />,
  render: (animal) => <SelectBox selection={selection} animal={animal} />,
})

const statusColumn: Column<Animal> = {
  name: 'Status',
  width: 'var(--status-width)',
  render: ({ status }) => <StatusChip status={status} />,
}

const NameCell = ({ animal }: { animal: Animal }) => (
  <div class="animal-cell">
    {!isPrinting.value && <AnimalPhoto animal={animal} sizes="40px" />}
    <div>
      <a class="cell-link" href={hrefOf(`animals/${animal.id}`)} title={animal.name}>
        {animal.name}
      </a>
      {!isPhone.value && <span class="cell-detail-always">{detailsOf(animal)}</span>}
      {isPhone.value && (
        <span class="cell-detail">
          <StatusChip status={animal.status} /> {String(animal.id)} ·{' '}
          <Name>{categoryName(animal.categoryId)}</Name>
        </span>
      )}
    </div>
  </div>
)
