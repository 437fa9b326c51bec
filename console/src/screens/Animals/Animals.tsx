import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { isId } from '../../api/json.ts'
import { streamReady } from '../../api/stream.ts'
import type { PetStatus } from '../../api/types.ts'
import { loadCategories } from '../../app/categories.ts'
import { navigate, search } from '../../app/router.ts'
import { hasScope } from '../../app/session.ts'
import { Button } from '../../components/Button.tsx'
import { LiveIndicator } from '../../components/LiveIndicator.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { PlaceOrderDialog } from '../Orders/PlaceOrderDialog.tsx'
import { AnimalDialog } from './AnimalDialog.tsx'
import { AnimalsTable, type OpenDialog } from './AnimalsTable.tsx'
import { AnimalsToolbar, type ToolbarValues } from './AnimalsToolbar.tsx'
import { createPetList, followPets, type PetList } from './pets.ts'

/** A pause in typing, before the API is asked for an id. */
const typingMs = 250

export default function Animals() {
  const [values, setValues] = useToolbar()
  const { list, isName } = usePetList(values)
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
        isFiltered={values.status !== '' || values.categoryId !== '' || values.text.trim() !== ''}
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

/** The filters are in the URL, so that a link shows the same animals. The search text is not. */
function useToolbar(): [ToolbarValues, (changes: Partial<ToolbarValues>) => void] {
  const [text, setText] = useState('')
  const query = new URLSearchParams(search.value)
  const status = query.get('status') as PetStatus | null
  const values = { status: status ?? ('' as const), categoryId: query.get('category') ?? '', text }
  const set = (changes: Partial<ToolbarValues>) => {
    const next = { ...values, ...changes }
    setText(next.text)
    if (next.status === values.status && next.categoryId === values.categoryId) return
    const filters = new URLSearchParams()
    if (next.status !== '') filters.set('status', next.status)
    if (next.categoryId !== '') filters.set('category', next.categoryId)
    const filterText = filters.toString()
    navigate(`animals${filterText === '' ? '' : `?${filterText}`}`, { replace: true })
  }
  return [values, set]
}

/** Digits are an id, which the API finds. Other text is a part of a name, among the loaded animals. */
function usePetList({ status, categoryId, text }: ToolbarValues): { list: PetList; isName: boolean } {
  const searched = useDebounced(text.trim())
  const id = isId(searched) ? searched : ''
  const name = id === '' ? searched.toLocaleLowerCase() : ''
  const list = useMemo(() => createPetList({ status, categoryId, id }), [status, categoryId, id])
  useEffect(() => {
    void loadCategories()
  }, [])
  useEffect(() => {
    const end = followPets(list)
    void streamReady().then(() => list.reload())
    return () => {
      end()
      list.dispose()
    }
  }, [list])
  useEffect(() => {
    list.filter(name === '' ? undefined : (pet) => pet.name.toLocaleLowerCase().includes(name))
  }, [list, name])
  return { list, isName: name !== '' }
}

function useDebounced(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(setSettled, typingMs, value)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
