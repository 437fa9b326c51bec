import type { Db } from '../../database/tables.ts'
import { findStoredPets } from '../../pets/queries.ts'
import type { CheckedFile } from './checkFile.ts'
import type { Problems } from './problems.ts'
import { committedLine } from './resume.ts'

const petsPerQuery = 500

/**
 * Finds the lines of a checked file that conflict with the database or with other lines. Returns their numbers. Without a
 * database, nothing is stored.
 */
export async function findConflicts(
  db: Db | undefined,
  { digest, petIds, externalIds, openOrders }: CheckedFile,
  problems: Problems,
): Promise<Set<number>> {
  const wrong = new Set<number>()
  const add = (line: number, reason: string) => {
    problems.add({ line, reason })
    wrong.add(line)
  }
  const committed = db ? await committedLine(db, digest) : 0
  for await (const { line, id, reason } of externalIds.check(db, committed)) {
    if (reason !== undefined) add(line, reason)
    else if (id !== undefined) petIds.add(id)
  }
  // An open order holds its animal, so the animal must be in the file or in the database.
  const missing = [...openOrders.keys()].filter((petId) => !petIds.has(petId))
  for (let from = 0; from < missing.length; from += petsPerQuery) {
    const some = missing.slice(from, from + petsPerQuery)
    const stored = new Set((db ? await findStoredPets(db, some) : []).map(({ id }) => id))
    for (const petId of some.filter((id) => !stored.has(id)))
      for (const line of openOrders.get(petId) ?? [])
        add(line, `the order is open, but there is no animal ${petId}`)
  }
  return wrong
}
