import { hash } from 'node:crypto'
import { toJson } from '../../api/json.ts'
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
  using seen = createSeenRecords()
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
        for (const [at, change] of changes.entries())
          found[seen.changeAfter(kind, some[at] as ResourceRecord, change)]++
        addKindCounts(counts, kind.countsAs ?? kind, found)
      }
    }
  }
  return counts
}

/** The records so far, because a later one can be about the same row. */
function createSeenRecords() {
  const database = openTemporaryDatabase(
    'CREATE TABLE seen (type TEXT, identity ANY, state TEXT, PRIMARY KEY (type, identity)) STRICT, WITHOUT ROWID',
  )
  const insert = database.prepare('INSERT OR IGNORE INTO seen VALUES (?, ?, ?)')
  const update = database.prepare(
    'UPDATE seen SET state = ?1 WHERE type = ?2 AND identity = ?3 AND state <> ?1',
  )
  return {
    /** What a record does after those before it. `change` is what it would do without them. */
    changeAfter(kind: RecordKind, record: ResourceRecord, change: RecordChange): RecordChange {
      const { type, identitiesOf, stateOf } = kind
      const identities = identitiesOf?.(record) ?? [record.id as number | bigint]
      const state = stateOf ? hash('sha256', toJson(stateOf(record))) : null
      // The first identity decides. All are stored.
      const [first] = identities.map((each) => ({
        each,
        isSeen: insert.run(type, each, state).changes === 0,
      }))
      if (!first?.isSeen) return change
      if (state === null) return change === 'added' ? 'changed' : change
      return update.run(state, type, first.each).changes === 0 ? 'unchanged' : 'changed'
    },
    [Symbol.dispose]: () => database.close(),
  }
}
