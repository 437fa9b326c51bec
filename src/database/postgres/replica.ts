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
export class PostgresReplica implements ReadReplica {
  readonly #db: Db
  readonly #primary: Db
  readonly #lagMaxMs: number
  /** Where the log of the primary ended at these times, oldest first, within the last `lagMaxMs`. */
  readonly #positions: { readonly at: number; readonly position: string }[] = []
  #isUsable = false
  #isStopped = false

  constructor(pool: Pool, primary: Db, lagMaxMs: number) {
    this.#db = new PostgresDb(connectionSource(pool, () => replicaQueryMaxMs))
    this.#primary = primary
    this.#lagMaxMs = lagMaxMs
  }

  usable(): Db | undefined {
    return this.#isUsable ? this.#db : undefined
  }

  async watch(listener: (problem: string | undefined) => void, checkMs = defaultCheckMs): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const problem = await this.#problem()
      if (this.#isStopped) return
      const isUsable = problem === undefined
      const isChanged = isFirst || isUsable !== this.#isUsable
      this.#isUsable = isUsable
      if (isChanged) listener(problem)
      await sleep(checkMs, undefined, { ref: false })
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#isUsable = false
  }

  /** Why the replica must not be used. */
  async #problem(): Promise<string | undefined> {
    const startedAt = performance.now()
    try {
      const primary = await readPrimary(this.#primary)
      const replica = await readReplica(this.#db, this.#positionToReach(startedAt, primary.position))
      if (!replica.isInRecovery) return 'it is not a standby server'
      if (replica.system !== primary.system || replica.identity !== primary.identity)
        return 'it belongs to another database'
      if (replica.version !== primary.version) return 'its schema has another version'
      if (!replica.isStreaming) return 'it receives no changes from its primary'
      if (!replica.hasReplayed) return `it is more than ${this.#lagMaxMs} ms behind`
      return undefined
    } catch (error) {
      return rootCauseMessage(error)
    }
  }

  /** The oldest known position of the last `lagMaxMs`. A replica that has replayed it has everything from before. */
  #positionToReach(now: number, newest: string): string {
    const positions = this.#positions
    positions.push({ at: now, position: newest })
    const oldest = positions.findIndex(({ at }) => now - at <= this.#lagMaxMs)
    positions.splice(0, oldest)
    return positions[0]?.position ?? newest
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
