import type { ClientBase, Pool } from 'pg'
import { DatabaseUnavailableError } from '../database.ts'
import type { Db } from '../tables.ts'
import type { Transaction, WriteEngine } from '../writeBatch.ts'
import { type ConnectionSource, postgresKysely, query, withClient } from './driver.ts'
import { isNotExecuted, isReadOnly, isSerializationFailure, isStalePlan } from './errors.ts'
import { connectionSource } from './pool.ts'

/** The bound of one query. */
export const queryMaxMs = 3_000
/** The bound of all writes that share a commit. */
const commitMaxMs = 5_000

/** Every statement is written for this level. The role, the database and the server may have other defaults. */
export const beginStatement = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** The transaction that holds this lock is the only writer of the schema. */
export const writeLockStatement =
  "SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext('petstore write'))"

export const inTransaction = <T>(
  source: ConnectionSource,
  beginStatements: string,
  work: (trx: Db, client: ClientBase) => Promise<T>,
): Promise<T> =>
  withClient(source, async (client) => {
    await query(client, beginStatements, [], source.timeoutMs())
    const value = await work(onConnection(client, source.timeoutMs), client)
    await commit(client, source.timeoutMs())
    return value
  })

type ConnectionListener = { onFault?(error: unknown): void; onMutation?(): void }

/** Kysely on one connection, which the caller acquires and releases. */
const onConnection = (
  client: ClientBase,
  timeoutMs: () => number,
  { onFault, onMutation }: ConnectionListener = {},
): Db =>
  postgresKysely({
    acquire: async () => client,
    release: (_client, error) => error !== undefined && onFault?.(error),
    timeoutMs,
    ...(onMutation && { onMutation }),
  })

/** PostgreSQL responds to COMMIT of a failed transaction with ROLLBACK, and without an error. */
async function commit(client: ClientBase, timeoutMs: number): Promise<void> {
  const { command } = await query(client, 'COMMIT', [], timeoutMs)
  if (command !== 'COMMIT') throw new DatabaseUnavailableError('The database did not accept the change.')
}

export const postgresWriteEngine = (pool: Pool): WriteEngine => ({
  begin: () => beginWrite(pool),
  isRetryable: (error) => isStalePlan(error) || isSerializationFailure((error as Error).cause ?? error),
  // Without a cause, COMMIT was not sent or was confirmed as a rollback.
  isOutcomeUnknown(error) {
    const { cause } = error as Error
    return error instanceof DatabaseUnavailableError && cause !== undefined && !isNotExecuted(cause)
  },
})

async function beginWrite(pool: Pool): Promise<Transaction> {
  const deadline = performance.now() + commitMaxMs
  const source = connectionSource(pool, () => Math.min(queryMaxMs, deadline - performance.now()))
  const client = await source.acquire()
  let fault: unknown
  let mutations = 0
  const execute = async (statement: string) => {
    try {
      if (statement === 'COMMIT') await commit(client, source.timeoutMs())
      else await query(client, statement, [], source.timeoutMs())
    } catch (error) {
      fault = error
      throw error
    }
  }
  try {
    await execute(`${beginStatement}; ${writeLockStatement}`)
  } catch (error) {
    source.release(client, error)
    throw error
  }
  return {
    trx: onConnection(client, source.timeoutMs, {
      // After an error of the server the transaction can be rolled back. A connection that timed out, or that cannot
      // write, must not be used again.
      onFault(error) {
        const { cause } = error as Error
        if (!isNotExecuted(cause) || isReadOnly(cause)) fault = error
      },
      onMutation() {
        mutations++
      },
    }),
    execute,
    get mutations() {
      return mutations
    },
    get isOpen() {
      return fault === undefined && client.getTransactionStatus() !== 'I'
    },
    // A transaction that is still open ends with its connection.
    release: () =>
      source.release(client, fault ?? (client.getTransactionStatus() === 'I' ? undefined : 'open')),
  }
}
