import type { Int64 } from '../../../client/src/index.ts'
import { NameCache } from './nameCache.ts'
import { hasScope, onSignOut } from './session.ts'
import { store } from './store.ts'
import { followEvents } from './stream.ts'

/** The names of animals that other screens refer to by id. */
const names = new NameCache((ids) =>
  store.pets
    .list({ id: [...ids] })
    .page()
    .then(({ items }) => items),
)

/** The name of an animal, or "Animal 42" until it is known. */
export const petName = (id: Int64): string =>
  (hasScope('pets:read') ? names.get(id) : undefined) ?? `Animal ${id}`

followEvents((event) => {
  if (event.type !== 'pet.created' && event.type !== 'pet.updated') return
  if (names.has(event.data.id)) names.set([event.data])
})

onSignOut(() => names.clear())
