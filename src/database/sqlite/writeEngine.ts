import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { withRetry } from '../retry.ts'
import type { Transaction, WriteEngine } from '../writeBatch.ts'
import {
  isIoError,
  isLocked,
  type SqliteConnection,
  sqliteConnectionOf,
  sqliteKyselyFactory,
} from './driver.ts'
import type { Durability } from './durability.ts'

const lockRetry = { waitMaxMs: 5_000, retryMs: 20, isRetryable: isLocked }

/** In this time, a writer of another process that waits for the lock tries to take it. */
export const writerTurnMs = 1.5 * lockRetry.retryMs

type SqliteWriteOptions = {
  /** Present in a server, which syncs commits in another thread. */
  durability(): Durability | undefined
  /** Called synchronously after COMMIT. */
  onCommitted(): void
}

/** Transactions on the one connection that writes. */
export function sqliteWriteEngine(
  writer: DatabaseSync,
  { durability, onCommitted }: SqliteWriteOptions,
): WriteEngine {
  const statements = new Map<string, StatementSync>()
  const prepare = (text: string) => {
    const statement = statements.get(text) ?? writer.prepare(text)
    statements.set(text, statement)
    return statement
  }
  const createTrx = sqliteKyselyFactory(writer)
  const transaction: Transaction = {
    openJob() {
      const trx = createTrx()
      return { trx, connection: sqliteConnectionOf(trx) as SqliteConnection }
    },
    execute(statement) {
      if (statement !== 'COMMIT') return void prepare(statement).run()
      // Failing before COMMIT guarantees that nothing was applied.
      durability()?.assertWritable()
      try {
        prepare(statement).run()
      } catch (error) {
        if (isIoError(error)) durability()?.fail(error)
        throw error
      }
      onCommitted()
    },
    get isOpen() {
      return writer.isTransaction
    },
    release() {},
  }
  return {
    /** Another process may hold the write lock. Retries outside SQLite, which would block the event loop. */
    begin: () =>
      withRetry(() => {
        durability()?.assertWritable()
        prepare('BEGIN IMMEDIATE').run()
        return transaction
      }, lockRetry),
    isRetryable: () => false,
    // A commit that could not be written or synced may still be in the log, and a recovery may apply it.
    isOutcomeUnknown: isIoError,
    sync: () => durability()?.syncCommit(),
  }
}
