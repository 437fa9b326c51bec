import { createHash } from 'node:crypto'
import type { Resource } from '../../records/resource.ts'
import { resourceOf } from '../../resources.ts'
import { Progress } from '../output/progress.ts'
import type { FileConflicts } from './conflicts.ts'
import type { ImportInput } from './input.ts'
import type { Problems } from './problems.ts'
import { readRecords } from './readRecords.ts'
import type { ReadOptions } from './records.ts'

export type CheckedFile = {
  readonly options: ReadOptions
  /** Identifies the file and the options that decide how it is read. */
  readonly digest: string
  /** The highest id of each resource whose ids the service assigns. */
  readonly highestIds: ReadonlyMap<Resource, number>
}

/** Validates every line. What depends on the database or on other lines is added to `conflicts`. */
export async function checkFile(
  input: ImportInput,
  options: ReadOptions,
  conflicts: FileConflicts,
  problems: Problems,
  signal: AbortSignal,
): Promise<CheckedFile> {
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
      // Ids of any int64 are not assigned by counting.
      if (typeof record.id === 'number' && record.id > (highestIds.get(resource) ?? 0))
        highestIds.set(resource, record.id)
      conflicts.add(resource.type, batch.lines[at] as number, record)
    }
    bytesRead += batch.bytes
    checked += batch.records.length
    progress.show(checked, 'lines', bytesRead / input.bytes)
  }
  return { options, digest: hash.digest('hex'), highestIds }
}
