import type { ComponentChildren } from 'preact'
import type { RequestError } from '../../api/errors.ts'
import type { Pet } from '../../api/types.ts'
import { Name } from '../../components/Name.tsx'

/** "Milo removed." */
export const named = (name: string, rest: string): ComponentChildren => (
  <>
    <Name>{name}</Name> {rest}
  </>
)

/** What an error means for the person who works with the animal. */
export function explain(error: RequestError, { name }: Pick<Pet, 'name'>): ComponentChildren {
  switch (error.code) {
    case 'pet_has_open_order':
      return named(name, 'has an open order. Deliver or cancel the order first.')
    case 'pet_not_found':
      return named(name, 'has been removed by someone else.')
    case 'pet_unavailable':
      return named(name, 'was reserved by someone else first.')
    case 'illegal_transition':
      return named(name, `was changed by someone else. ${error.message}`)
    default:
      return error.messageWithoutDelay
  }
}
