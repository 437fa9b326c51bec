import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { ReadReplica } from '../database.ts'
import type { Db } from '../db.ts'
import { PostgresDb } from './driver.ts'
import { rootCauseMessage } from './errors.ts'
import { connectionSource, replicaQueryMaxMs } from './pool.ts'

const defaultCheckMs = 1_000

type Identity = { readonly system: string; readonly identity: string | null; readonly version: number | null }
type PrimaryState = Identity & { readonly position: string }
type ReplicaState = Identity & {
  readonly isInRecovery: boolean
  readonly isStreaming: boolean
  readonly hasReplayed: boolean
}

/** A streaming replica. It can be used while it replays the log of the primary without more than the allowed delay. */
export function createReplica(pool: Pool, primary: Db, lagMaxMs: number): ReadReplica & { stop(): void } {
  const db = new PostgresDb(connectionSource(pool, () => replicaQueryMaxMs))
  /** Where the log of the primary ended at these times, oldest first, within the last `lagMaxMs`. */
  const positions: { readonly at: number; readonly position: string }[] = []
  let isUsable = false
  let isStopped = false

  /** The oldest known position of the last `lagMaxMs`. A replica that has replayed it has everything from before. */
  function positionToReach(now: number, newest: string): string {
    positions.push({ at: now, position: newest })
    const oldest = positions.findIndex(({ at }) => now - at <= lagMaxMs)
    positions.splice(0, oldest)
    return positions[0]?.position ?? newest
  }

  /** Why the replica must not be used. */
  async function findProblem(): Promise<string | undefined> {
    const startedAt = performance.now()
    try {
      const expected = await readPrimary(primary)
      const replica = await readReplica(db, positionToReach(startedAt, expected.position))
      if (!replica.isInRecovery) return 'it is not a standby server'
      if (replica.system !== expected.system || replica.identity !== expected.identity)
        return 'it belongs to another database'
      if (replica.version !== expected.version) return 'its schema has another version'
      if (!replica.isStreaming) return 'it receives no changes from its primary'
      if (!replica.hasReplayed) return `it is more than ${lagMaxMs} ms behind`
      return undefined
    } catch (error) {
      return rootCauseMessage(error)
    }
  }

  return {
    usable: () => (isUsable ? db : undefined),
    async watch(listener, checkMs = defaultCheckMs) {
      for (let isFirst = true; ; isFirst = false) {
        const problem = await findProblem()
        if (isStopped) return
        const wasUsable = isUsable
        isUsable = problem === undefined
        if (isFirst || isUsable !== wasUsable) listener(problem)
        await sleep(checkMs, undefined, { ref: false })
      }
    },
    stop() {
      isStopped = true
      isUsable = false
    },
  }
}

/** The system identifier is that of the server. A database that was restored from a dump has the same identity. */
const identityColumns = sql`
  (SELECT system_identifier::text FROM pg_control_system()) AS "system",
  (SELECT value FROM metadata WHERE name = 'identity') AS "identity",
  (SELECT max(version) FROM schema_migrations) AS "version"`

async function readPrimary(db: Db): Promise<PrimaryState> {
  const query = sql<PrimaryState>`SELECT pg_current_wal_flush_lsn()::text AS "position", ${identityColumns}`
  return (await query.execute(db)).rows[0] as PrimaryState
}

/** Without the role pg_read_all_stats only the process id of the receiver is visible. */
async function readReplica(db: Db, position: string): Promise<ReplicaState> {
  const query = sql<ReplicaState>`
    SELECT pg_is_in_recovery() AS "isInRecovery",
      EXISTS (SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL AND coalesce(status, 'streaming') = 'streaming')
        AS "isStreaming",
      coalesce(pg_last_wal_replay_lsn() >= ${position}::pg_lsn, false) AS "hasReplayed",
      ${identityColumns}`
  return (await query.execute(db)).rows[0] as ReplicaState
}
