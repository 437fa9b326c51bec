import type { CompiledQuery } from 'kysely'
import type { Pool } from 'pg'
import { ConcurrencyLimit } from '../concurrencyLimit.ts'
import { DatabaseUnavailableError, OutcomeUnknownError, type WriteOptions } from '../database.ts'
import type { Trx } from '../db.ts'
import { withRetry } from '../retry.ts'
import { type ConnectionSource, PostgresConnection } from './driver.ts'
import { isNotExecuted, isRetryable } from './errors.ts'
import { connectionSource } from './pool.ts'
import { confirmed, queryMaxMs, unconfirmed, WriteTransaction } from './transactions.ts'

/** The bound of a transaction. */
const transactionMaxMs = 5_000
/** One that has locked the subject, and one that waits for the lock, so that it starts without a round trip. */
const transactionsPerSubject = 2
const retryDelayMaxMs = 50
/** A transaction that fails with a deadlock or a concurrent change is repeated. */
const retry = {
  attemptsMax: 5,
  waitMaxMs: 10_000,
  retryMs: () => Math.random() * retryDelayMaxMs,
  isRetryable: (error: unknown) => !(error instanceof OutcomeUnknownError) && isRetryable(error),
}

/** Runs write transactions concurrently. Those with the same subject wait for each other here, without a connection. */
export class PostgresWriter {
  readonly #source: ConnectionSource
  /** Transactions that have a connection. */
  readonly #transactions: ConcurrencyLimit
  readonly #subjects = new ConcurrencyLimit(transactionsPerSubject)
  readonly #commitListeners: (() => void)[] = []
  readonly #running = new Set<Promise<unknown>>()

  constructor(pool: Pool) {
    this.#source = connectionSource(pool, () => queryMaxMs)
    this.#transactions = new ConcurrencyLimit(pool.options.max)
  }

  async write<T>(
    work: (trx: Trx) => Promise<T>,
    {
      onDurable,
      subject,
      precheck,
      hasPriority,
      isLogged = true,
    }: WriteOptions & { readonly isLogged?: boolean } = {},
  ): Promise<T> {
    const run = () =>
      withRetry(
        () => this.#transactions.run(() => this.#runTransaction(work, isLogged), { hasPriority }),
        retry,
      )
    const value = await this.#track(
      subject === undefined ? run() : this.#subjects.run(run, { subject, precheck }),
    )
    onDurable?.()
    if (isLogged) this.#notify()
    return value
  }

  /** After a lost connection nothing is retried: the statement is its own commit, so its outcome is unknown. */
  async run<R>(statement: CompiledQuery<R>): Promise<readonly R[]> {
    const run = () => this.#transactions.run(() => this.#runStatement(statement))
    const rows = await this.#track(withRetry(run, retry))
    this.#notify()
    return rows
  }

  onCommit(listener: () => void): void {
    this.#commitListeners.push(listener)
  }

  get waiting(): number {
    return this.#subjects.waiting + this.#transactions.waiting
  }

  get subjectWaiters(): number {
    return this.#subjects.waiting
  }

  /** Resolves when all writes have ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#running)
  }

  #notify(): void {
    for (const listener of this.#commitListeners) listener()
  }

  async #track<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async #runTransaction<T>(work: (trx: Trx) => Promise<T>, isLogged: boolean): Promise<T> {
    const client = await this.#source.acquire()
    const deadline = performance.now() + transactionMaxMs
    const transaction = new WriteTransaction(client, () => Math.min(queryMaxMs, deadline - performance.now()))
    try {
      const value = await work(transaction)
        .finally(() => transaction.close())
        .catch(async (error: unknown) => {
          throw await transaction.causeOf(error)
        })
      if (transaction.hasChanges) await transaction.commit(isLogged)
      return value
    } finally {
      // The caller does not wait for the end of a transaction that has changed nothing.
      void transaction.rollback().then(() => this.#source.release(client, transaction.fault))
    }
  }

  async #runStatement<R>(statement: CompiledQuery<R>): Promise<readonly R[]> {
    const client = await this.#source.acquire()
    const connection = new PostgresConnection(client, this.#source)
    try {
      return await confirmed(client, async () => (await connection.executeQuery<R>(statement)).rows)
    } catch (error) {
      const { cause } = error as Error
      const isUnknown = error instanceof DatabaseUnavailableError && !isNotExecuted(cause)
      throw isUnknown && !(error instanceof OutcomeUnknownError) ? unconfirmed(error) : error
    } finally {
      this.#source.release(client, connection.fault)
    }
  }
}
