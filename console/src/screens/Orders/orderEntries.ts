import { onSignOut } from '../../app/session.ts'

/** What was entered for an animal that was then reserved by someone else. The next form for an order begins with it. */

type KeptEntries = {
  readonly name: string
  readonly email: string
  readonly note: string
  readonly petName: string
}

/** In memory only: it has the data of an adopter. */
let kept: KeptEntries | undefined
onSignOut(() => void takeEntries())

export function keepEntries(entries: KeptEntries): void {
  kept = entries
}

export function takeEntries(): KeptEntries | undefined {
  const taken = kept
  kept = undefined
  return taken
}
