import { call } from '../api/client.ts'
import { onEvent } from '../api/stream.ts'
import { NameCache } from './nameCache.ts'
import { hasScope, onSignOut } from './session.ts'

/** The names of animals that other screens refer to by id. */
const names = new NameCache((ids) => call('listPets', { query: { id: [...ids], limit: ids.length } }))

/** The name of an animal, or "Animal 42" until it is known. */
export const petName = (id: number): string =>
  (hasScope('pets:read') ? names.get(id) : undefined) ?? `Animal ${id}`

onEvent((event) => {
  if (event.type !== 'pet.created' && event.type !== 'pet.updated') return
  if (names.has(event.data.id)) names.set([event.data])
})

onSignOut(() => names.clear())
