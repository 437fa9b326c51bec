import { systemClock } from '../../clock.ts'
import type { Db } from '../../database/db.ts'
import { noCounts, type RecordChange, type Resource, type ResourceRecord } from '../../records/resource.ts'
import { openTemporaryDatabase } from '../../records/temporaryDatabase.ts'
import { resourceOf } from '../../resources.ts'
import { addKindCounts, type KindCounts } from './applyRecords.ts'
import type { Batch } from './records.ts'

/** Counts what an import would change. Without a database, everything would be added. */
export async function findChanges(
  db: Db | undefined,
  batches: AsyncIterable<Batch>,
  isWanted: (line: number) => boolean,
  signal: AbortSignal,
): Promise<KindCounts> {
  const counts: KindCounts = new Map()
  using seen = new SeenRecords()
  for await (const { records, lines } of batches) {
    signal.throwIfAborted()
    const wanted = records.filter((_, at) => isWanted(lines[at] as number))
    for (const [resource, all] of Map.groupBy(wanted, ({ type }) => resourceOf(type))) {
      if (!resource) continue
      for (let from = 0; from < all.length; from += resource.batchMax) {
        const some = all.slice(from, from + resource.batchMax)
        const found = noCounts()
        const changes: readonly RecordChange[] = db
          ? await resource.findChanges(db, some, systemClock())
          : some.map(() => 'added')
        for (const [at, change] of changes.entries()) {
          const isRepeated = seen.add(resource, some[at] as ResourceRecord)
          found[change === 'added' && isRepeated ? 'changed' : change]++
        }
        addKindCounts(counts, resource, found)
      }
    }
  }
  return counts
}

/** What identifies the records of the file so far. */
class SeenRecords {
  readonly #database = openTemporaryDatabase(
    'CREATE TABLE seen (type TEXT, identity ANY, PRIMARY KEY (type, identity)) STRICT, WITHOUT ROWID',
  )
  readonly #insert = this.#database.prepare('INSERT OR IGNORE INTO seen VALUES (?, ?)')

  /** Returns whether an earlier record was about the same row. */
  add({ type, identitiesOf }: Resource, record: ResourceRecord): boolean {
    const identities = identitiesOf?.(record) ?? [record.id as number | bigint]
    const [isRepeated = false] = identities.map((each) => this.#insert.run(type, each).changes === 0)
    return isRepeated
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}
