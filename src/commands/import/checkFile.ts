import { createHash } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import type { Db } from '../../database/db.ts'
import type { Conflicts, Resource, ResourceRecord } from '../../records/resource.ts'
import { resourceOf, resources } from '../../resources.ts'
import { Progress } from '../output/progress.ts'
import type { ImportInput } from './input.ts'
import type { Problems } from './problems.ts'
import { readRecords } from './readRecords.ts'
import type { Batch, ReadOptions } from './records.ts'
import { committedLine } from './resume.ts'

export type CheckedFile = {
  /** Identifies the file and the options that decide how it is read. */
  readonly digest: string
  /** The highest id of each resource whose ids the service assigns. */
  readonly highestIds: ReadonlyMap<Resource, number>
  /** The records, from the start of the file. */
  batches(): AsyncIterable<Batch>
}

export type CheckContext = {
  readonly input: ImportInput
  readonly options: ReadOptions
  /** Gets what depends on the database or on other lines. */
  readonly conflicts: FileConflicts
  readonly problems: Problems
  readonly signal: AbortSignal
}

/** Validates every line of NDJSON. */
export async function checkFile(context: CheckContext): Promise<CheckedFile> {
  const { input, options, conflicts, problems, signal } = context
  using progress = new Progress('Checking')
  const hash = createHash('sha256').update(JSON.stringify({ ...options, map: [...options.map] }))
  const highestIds = new Map<Resource, number>()
  let bytesRead = 0
  let checked = 0
  for await (const batch of readRecords(input.open(), options, (bytes) => void hash.update(bytes))) {
    signal.throwIfAborted()
    for (const problem of batch.problems) problems.add(problem)
    for (const [at, record] of batch.records.entries()) {
      const resource = resourceOf(record.type)
      if (!resource) continue
      // Category ids need no reservation: `assignId` skips ids that are taken.
      if (typeof record.id === 'number' && record.id > (highestIds.get(resource) ?? 0))
        highestIds.set(resource, record.id)
      conflicts.add(resource.type, batch.lines[at] as number, record)
    }
    bytesRead += batch.bytes
    checked += batch.records.length
    progress.show(checked, 'lines', bytesRead / input.bytes)
  }
  return { digest: hash.digest('hex'), highestIds, batches: () => readRecords(input.open(), options) }
}

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
  async find(db: Db | undefined, digest: string, problems: Problems, signal: AbortSignal) {
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
