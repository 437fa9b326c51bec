import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { PetStatus } from '../../../../client/src/index.ts'
import { loadCategories } from '../../app/categories.ts'
import { foldText } from '../../app/fold.ts'
import { isId } from '../../app/ids.ts'
import { navigate, screenArgument, search } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { useList } from '../../app/useList.ts'
import { Button } from '../../components/Button.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { PlaceOrderDialog } from '../Orders/PlaceOrderDialog.tsx'
import { AnimalDialog } from './AnimalDialog.tsx'
import { AnimalsTable, type OpenDialog } from './AnimalsTable.tsx'
import { AnimalsToolbar, type ToolbarValues } from './AnimalsToolbar.tsx'
import { AnimalPage } from './page/AnimalPage.tsx'
import { createPetList, filterPets, followPets, type PetList } from './pets.ts'

/** A pause in typing, before the search begins. */
const typingMs = 250

export default function Animals() {
  const argument = screenArgument.value
  return argument === undefined ? <AllAnimals /> : <AnimalPage key={argument} petId={argument} />
}

function AllAnimals() {
  const [values, setValues] = useToolbar()
  const { list, isName } = usePetList()
  const hasFilters = values.status !== '' || values.categoryId !== ''
  const [dialog, setDialog] = useState<OpenDialog>()
  const close = useCallback(() => setDialog(undefined), [])
  return (
    <>
      <PageHeader
        title="Animals"
        actions={
          <>
            <LiveIndicator onRefresh={() => void list.reload()} />
            {hasScope('pets:write') && (
              <Button kind="primary" icon="plus" onClick={() => setDialog({ kind: 'add' })}>
                Add animal
              </Button>
            )}
          </>
        }
      />
      <AnimalsToolbar values={values} onChange={setValues} />
      <AnimalsTable
        list={list}
        onDialog={setDialog}
        onClear={() => setValues({ status: '', categoryId: '', text: '' })}
        isFiltered={hasFilters || values.text.trim() !== ''}
        hasFilters={hasFilters}
        isNameSearch={isName}
      />
      {dialog?.kind === 'add' && <AnimalDialog list={list} onClose={close} />}
      {dialog?.kind === 'edit' && <AnimalDialog list={list} pet={dialog.pet} onClose={close} />}
      {dialog?.kind === 'order' && (
        <PlaceOrderDialog pet={dialog.pet} onPlaced={(pet) => list.upsert(pet)} onClose={close} />
      )}
    </>
  )
}

function valuesInUrl(): ToolbarValues {
  const query = new URLSearchParams(search.value)
  const status = (query.get('status') ?? '') as PetStatus | ''
  return { status, categoryId: query.get('category') ?? '', text: query.get('q') ?? '' }
}

const urlOf = ({ status, categoryId, text }: ToolbarValues): string => {
  const query = new URLSearchParams()
  if (status !== '') query.set('status', status)
  if (categoryId !== '') query.set('category', categoryId)
  if (text.trim() !== '') query.set('q', text.trim())
  return query.size === 0 ? 'animals' : `animals?${query}`
}

/** The filters and the search are in the URL, so that a link, a reload and the way back show the same animals. */
function useToolbar(): [ToolbarValues, (changes: Partial<ToolbarValues>) => void] {
  const { text: searched, ...filters } = valuesInUrl()
  const [text, setText] = useState(searched)
  /** What this function has written to the URL. */
  const written = useRef(searched)
  const write = (values: ToolbarValues) => {
    written.current = values.text.trim()
    navigate(urlOf(values), { replace: true })
  }
  useEffect(() => {
    if (searched === written.current) return
    written.current = searched
    setText(searched)
  }, [searched])
  // Browsers limit how often the URL changes.
  useEffect(() => {
    if (text.trim() === written.current) return
    const timer = setTimeout(() => write({ ...valuesInUrl(), text }), typingMs)
    return () => clearTimeout(timer)
  }, [text])
  const values = { ...filters, text }
  return [
    values,
    (changes) => {
      const next = { ...values, ...changes }
      setText(next.text)
      if (next.status !== values.status || next.categoryId !== values.categoryId) write(next)
    },
  ]
}

/** Digits are an id, which the API finds. Other text is a part of a name, among the loaded animals. */
function usePetList(): { list: PetList; isName: boolean } {
  // The URL has the search after a pause in typing.
  const { status, categoryId, text } = valuesInUrl()
  const searched = text.trim()
  const id = isId(searched) ? searched : ''
  const name = id === '' ? foldText(searched) : ''
  const list = useMemo(() => createPetList({ status, categoryId, id }), [status, categoryId, id])
  useEffect(() => {
    void loadCategories()
  }, [])
  useList(list, followPets)
  useEffect(() => {
    filterPets(list, name === '' ? undefined : (pet) => foldText(pet.name).includes(name))
  }, [list, name])
  return { list, isName: name !== '' }
}
