import { systemClock } from '../../clock.ts'
import type { Db } from '../../database/db.ts'
import { noCounts, type RecordChange, type ResourceRecord } from '../../records/resource.ts'
import { openTemporaryDatabase } from '../../records/temporaryDatabase.ts'
import { addKindCounts, type KindCounts } from './applyRecords.ts'
import { type Batch, kindOf, type RecordKind } from './records.ts'

/** Counts what an import would change. Without a database, everything would be added. */
export async function findChanges(
  db: Db | undefined,
  batches: AsyncIterable<Batch>,
  isWanted: (line: number) => boolean,
  signal: AbortSignal,
): Promise<KindCounts> {
  const counts: KindCounts = new Map()
  using database = openTemporaryDatabase(
    'CREATE TABLE seen (type TEXT, identity ANY, PRIMARY KEY (type, identity)) STRICT, WITHOUT ROWID',
  )
  const insert = database.prepare('INSERT OR IGNORE INTO seen VALUES (?, ?)')
  /** Whether an earlier record was about the same row. The first identity decides. All are stored. */
  const isRepeated = ({ type, identitiesOf }: RecordKind, record: ResourceRecord) => {
    const identities = identitiesOf?.(record) ?? [record.id as number | bigint]
    return identities.map((each) => insert.run(type, each).changes === 0)[0] ?? false
  }
  for await (const { records, lines } of batches) {
    signal.throwIfAborted()
    const wanted = records.filter((_, at) => isWanted(lines[at] as number))
    for (const [kind, all] of Map.groupBy(wanted, ({ type }) => kindOf(type))) {
      if (!kind?.findChanges) continue
      for (let from = 0; from < all.length; from += kind.batchMax) {
        const some = all.slice(from, from + kind.batchMax)
        const found = noCounts()
        const changes: readonly RecordChange[] = db
          ? await kind.findChanges(db, some, systemClock())
          : some.map(() => 'added')
        for (const [at, change] of changes.entries()) {
          const isSeen = isRepeated(kind, some[at] as ResourceRecord)
          found[change === 'added' && isSeen ? 'changed' : change]++
        }
        addKindCounts(counts, kind.countsAs ?? kind, found)
      }
    }
  }
  return counts
}
