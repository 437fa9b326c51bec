import { useEffect, useState } from 'preact/hooks'
import { type Int64, type Pet, parseInt64 } from '../../../../../client/src/index.ts'
import { bondedMax } from '../../../../../src/profiles/profile.ts'
import { isAbort, toRequestError } from '../../../app/errors.ts'
import { isId } from '../../../app/ids.ts'
import { petName } from '../../../app/petNames.ts'
import { hrefOf } from '../../../app/router.ts'
import { store } from '../../../app/store.ts'
import { Button, IconButton } from '../../../components/Button.tsx'
import { Field } from '../../../components/Field.tsx'
import { Name } from '../../../components/Name.tsx'
import './bonded.css'
import { type ControlProps, fieldOf } from './control.ts'

/** A pause in typing, before the search begins. */
const typingMs = 300
const shownMax = 5

/** Digits find the animal with that id, other text those with these words. */
const find = async (text: string, signal: AbortSignal): Promise<readonly Pet[]> => {
  if (isId(text)) return (await store.pets.list({ id: [parseInt64(text)] }, { signal }).page()).items
  const query = { q: text, view: 'staff', listed: 'any', limit: shownMax } as const
  const { items } = await store.listings.list(query, { signal }).page()
  return items.map(({ pet }) => pet)
}

function useFound(text: string): { found: readonly Pet[] | undefined; problem: string | undefined } {
  const [result, setResult] = useState<{ found?: readonly Pet[]; problem?: string }>({})
  useEffect(() => {
    setResult({})
    if (text === '') return
    const controller = new AbortController()
    const timer = setTimeout(() => {
      find(text, controller.signal).then(
        (found) => setResult({ found }),
        (thrown: unknown) => {
          if (!isAbort(thrown)) setResult({ problem: toRequestError(thrown).message })
        },
      )
    }, typingMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text])
  return { found: result.found, problem: result.problem }
}

/** The animals that are adopted together with this one. */
export function BondedControl(props: ControlProps<readonly Int64[]>) {
  const { value, onValue } = props
  const [text, setText] = useState('')
  const { found, problem } = useFound(text.trim())
  const add = (id: Int64) => {
    setText('')
    onValue([...value, id])
  }
  const others = found?.filter(({ id }) => !value.includes(id))
  return (
    <div class="bonded">
      <Field {...fieldOf(props as ControlProps<never>, problem)}>
        {(control) => (
          <>
            {value.length > 0 && (
              <ul class="bonded-animals">
                {value.map((id) => (
                  <li key={id}>
                    <a href={hrefOf(`animals/${id}`)}>
                      <Name>{petName(id)}</Name>
                    </a>
                    <IconButton
                      size="small"
                      label={`Remove ${petName(id)}`}
                      icon="close"
                      onClick={() => onValue(value.filter((other) => other !== id))}
                    />
                  </li>
                ))}
              </ul>
            )}
            <input
              {...control}
              class="input"
              type="search"
              autocomplete="off"
              placeholder={value.length < bondedMax ? 'Search by name or id' : 'No more than 4'}
              disabled={value.length >= bondedMax}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </>
        )}
      </Field>
      <div class="bonded-found" role="status">
        {others?.length === 0 && <p class="muted">No animal found.</p>}
        {others?.map((pet) => (
          <Button key={pet.id} size="small" icon="plus" onClick={() => add(pet.id)}>
            <Name>{pet.name}</Name> <span class="muted">{String(pet.id)}</span>
          </Button>
        ))}
      </div>
    </div>
  )
}
