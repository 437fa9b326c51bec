import type { ComponentChildren } from 'preact'
import type { Pet } from '../../../../client/src/index.ts'
import type { RequestError } from '../../app/errors.ts'
import { withNames } from '../../components/Name.tsx'

/** What an error means for the person who works with the animal. */
export function explain(error: RequestError, { name }: Pick<Pet, 'name'>): ComponentChildren {
  switch (error.code) {
    case 'pet_has_open_order':
      return withNames`${name} has an open order. Deliver or cancel the order first.`
    case 'pet_not_found':
      return withNames`${name} has been removed by someone else.`
    case 'pet_unavailable':
      return withNames`${name} was reserved by someone else first.`
    case 'illegal_transition':
      return [withNames`${name} was changed by someone else. `, error.message]
    default:
      return error.messageWithoutDelay
  }
}
