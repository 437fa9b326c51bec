import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { loadCategories } from '../../app/categories.ts'
import { hrefOf, navigate, screenArgument, search } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { useAction } from '../../app/useAction.ts'
import { useList } from '../../app/useList.ts'
import { Button } from '../../components/Button.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { Menu } from '../../components/Menu.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { PlaceOrderDialog } from '../Orders/PlaceOrderDialog.tsx'
import type { OpenDialog } from './AnimalActions.tsx'
import { AnimalDialog } from './AnimalDialog.tsx'
import { AnimalsGallery } from './AnimalsGallery.tsx'
import { AnimalsTable } from './AnimalsTable.tsx'
import { AnimalsToolbar } from './AnimalsToolbar.tsx'
import { createAnimalList, type PetList, putPet } from './animalList.ts'
import { exportAnimals } from './animalsCsv.ts'
import { BulkDialog } from './BulkDialog.tsx'
import { addressOf, type Filters, filtersIn, isFiltered, isLastWordShort, noFilters } from './filters.ts'
import { followAnimals } from './followAnimals.ts'
import { AnimalPage } from './page/AnimalPage.tsx'
import { SelectionBar, useSelection } from './selection.tsx'
import { useToolbar } from './useToolbar.ts'
import './animals.css'

export default function Animals() {
  const argument = screenArgument.value
  return argument === undefined ? <AllAnimals /> : <AnimalPage key={argument} petId={argument} />
}

function AllAnimals() {
  const [values, setValues] = useToolbar()
  // What is typed is searched for after a pause.
  const filters = filtersIn(search.value)
  const list = useAnimalList(filters)
  const selection = useSelection(list)
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = useCallback(() => setDialog(undefined), [])
  const AnimalsView = values.view === 'gallery' ? AnimalsGallery : AnimalsTable
  return (
    <>
      <PageHeader
        title="Animals"
        actions={
          <>
            <LiveIndicator onRefresh={() => void list.reload()} />
            <MoreActions filters={filters} />
            {hasScope('pets:write') && (
              <Button kind="primary" icon="plus" onClick={() => setDialog({ kind: 'add' })}>
                Add animal
              </Button>
            )}
          </>
        }
      />
      <AnimalsToolbar values={values} species={speciesIn(list)} onChange={setValues} />
      <SelectionBar selection={selection} onChange={() => setDialog({ kind: 'bulk' })} />
      <AnimalsView
        list={list}
        selection={selection}
        onDialog={setDialog}
        empty={<NoAnimals filters={filters} onClear={() => setValues(noFilters)} onDialog={setDialog} />}
      />
      {dialog?.kind === 'add' && <AnimalDialog list={list} onClose={close} />}
      {dialog?.kind === 'edit' && <AnimalDialog list={list} pet={dialog.pet} onClose={close} />}
      {dialog?.kind === 'order' && (
        <PlaceOrderDialog pet={dialog.pet} onPlaced={(pet) => putPet(list, pet)} onClose={close} />
      )}
      {dialog?.kind === 'bulk' && (
        <BulkDialog list={list} ids={[...selection.ids]} onDone={selection.set} onClose={close} />
      )}
    </>
  )
}

function MoreActions({ filters }: { filters: Filters }) {
  const { run } = useAction()
  const exportAll = { label: 'Export as CSV', onSelect: () => void run(() => exportAnimals(filters)) }
  const importFile = { label: 'Import animals', onSelect: () => navigate('import') }
  return <Menu label="More actions" items={[...(hasScope('keys:manage') ? [importFile] : []), exportAll]} />
}

function useAnimalList(filters: Filters): PetList {
  const list = useMemo(() => createAnimalList(filters), [addressOf(filters, 'table')])
  useEffect(() => {
    void loadCategories()
  }, [])
  useList(list, () => followAnimals(list, filters))
  return list
}

/** The species of the animals in memory, for suggestions. */
const speciesIn = (list: PetList): string[] => {
  const names = list.window().items.map(({ species }) => species)
  return [...new Set(names)].filter((species) => species !== null).sort()
}

type NoAnimalsProps = { filters: Filters; onClear(): void; onDialog(dialog: OpenDialog): void }

function NoAnimals({ filters, onClear, onDialog }: NoAnimalsProps) {
  if (isFiltered(filters))
    return (
      <EmptyState
        icon="search"
        title="No animals match"
        text={
          isLastWordShort(filters)
            ? 'Type at least three letters to find the beginning of a word.'
            : 'All animals were searched, by name, breed, color, description and intake number.'
        }
        action={<Button onClick={onClear}>Clear search and filters</Button>}
      />
    )
  return (
    <EmptyState
      icon="paw"
      title="No animals yet"
      text="Animals that can be adopted appear here."
      action={
        <>
          {hasScope('pets:write') && (
            <Button kind="primary" icon="plus" onClick={() => onDialog({ kind: 'add' })}>
              Add the first animal
            </Button>
          )}{' '}
          {hasScope('keys:manage') && (
            <a class="button button-secondary button-normal" href={hrefOf('import')}>
              Import a file
            </a>
          )}
        </>
      }
    />
  )
}
