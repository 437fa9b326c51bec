import { systemClock } from '../../../clock.ts'
import type { Db } from '../../../database/db.ts'
import type { CheckedFile } from '../checkFile.ts'
import type { Problems } from '../problems.ts'
import { committedLine } from '../resume.ts'

/**
 * Finds the lines of a checked file that conflict with the database or with other lines. Returns their numbers. Without a
 * database, nothing is stored.
 */
export async function findConflicts(
  db: Db | undefined,
  { digest, petIds, externalIds, orders }: CheckedFile,
  problems: Problems,
  signal: AbortSignal,
): Promise<Set<number>> {
  const wrong = new Set<number>()
  const add = (line: number, reason: string) => {
    problems.add({ line, reason })
    wrong.add(line)
  }
  const committed = db ? await committedLine(db, digest) : 0
  for await (const { line, id, reason } of externalIds.check(db, committed)) {
    signal.throwIfAborted()
    if (reason !== undefined) add(line, reason)
    else if (id !== undefined) petIds.add(id)
  }
  const context = { db, committed, hasPet: (id: number) => petIds.has(id), now: systemClock() }
  for await (const { line, reason } of orders.check(context)) {
    signal.throwIfAborted()
    add(line, reason)
  }
  return wrong
}
