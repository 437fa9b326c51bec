import { systemClock } from '../../clock.ts'
import type { Db } from '../../database/db.ts'
import type { Conflicts, ResourceRecord } from '../../records/resource.ts'
import { resources } from '../../resources.ts'
import type { Problems } from './problems.ts'
import { committedLine } from './resume.ts'

/** The conflicts of the records of a file, of all resources. */
export class FileConflicts {
  readonly #byType = new Map<string, Conflicts>(
    resources.flatMap(({ type, conflicts }) => (conflicts ? [[type, conflicts()]] : [])),
  )

  add(type: string, line: number, record: ResourceRecord): void {
    this.#byType.get(type)?.add(line, record)
  }

  /**
   * Finds the lines that conflict with the database or with other lines. Returns their numbers. Without a database, nothing
   * is stored.
   */
  async find(
    db: Db | undefined,
    digest: string,
    problems: Problems,
    signal: AbortSignal,
  ): Promise<ReadonlySet<number>> {
    const wrong = new Set<number>()
    const hasRecord = (type: string, id: number) => this.#byType.get(type)?.has?.(id) ?? false
    const committed = db ? await committedLine(db, digest) : 0
    const context = { db, committed, hasRecord, now: systemClock() }
    for (const conflicts of this.#byType.values())
      for await (const { line, reason } of conflicts.find(context)) {
        signal.throwIfAborted()
        problems.add({ line, reason })
        wrong.add(line)
      }
    return wrong
  }

  close(): void {
    for (const conflicts of this.#byType.values()) conflicts.close()
  }
}
