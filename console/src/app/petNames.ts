import { signal } from '@preact/signals'
import { call } from '../api/client.ts'
import { onEvent } from '../api/stream.ts'
import { hasScope, onSignOut } from './session.ts'

/** The names of animals that other screens refer to by id. Missing names are loaded together. */

const idsPerRequest = 100
const namesMax = 5_000

const names = signal<ReadonlyMap<number, string>>(new Map())
/** Asked for, whether found or not. */
const requested = new Set<number>()
const waiting = new Set<number>()
let isScheduled = false

/** The name of an animal, or "Animal 42" until it is known. */
export function petName(id: number): string {
  const name = names.value.get(id)
  if (name === undefined && !requested.has(id) && hasScope('pets:read')) {
    requested.add(id)
    waiting.add(id)
    if (!isScheduled) queueMicrotask(loadWaiting)
    isScheduled = true
  }
  return name ?? `Animal ${id}`
}

async function loadWaiting(): Promise<void> {
  isScheduled = false
  const ids = [...waiting]
  waiting.clear()
  for (let start = 0; start < ids.length; start += idsPerRequest) {
    const part = ids.slice(start, start + idsPerRequest)
    try {
      const pets = await call('listPets', { query: { id: part, limit: idsPerRequest } })
      remember(pets)
    } catch {
      // The id is shown instead. It is asked for again when it is next shown.
      for (const id of part) requested.delete(id)
    }
  }
}

export function remember(pets: readonly { id: number; name: string }[]): void {
  const known = [...names.value].slice(-namesMax)
  names.value = new Map([...known, ...pets.map(({ id, name }) => [id, name] as const)])
}

onEvent((event) => {
  if (event.type !== 'pet.created' && event.type !== 'pet.updated') return
  if (names.value.has(event.data.id)) remember([event.data])
})

onSignOut(() => {
  names.value = new Map()
  requested.clear()
})
