import { type CompiledQuery, sql } from 'kysely'
import type { ClientBase } from 'pg'
import { DatabaseUnavailableError, OutcomeUnknownError, TransactionEndedError } from '../database.ts'
import type { Change, Compilable, Db, Trx } from '../db.ts'
import {
  assertParameters,
  type ConnectionSource,
  PostgresConnection,
  PostgresDb,
  query,
  withClient,
} from './driver.ts'
import { isInFailedTransaction, isNotExecuted, isReadOnly } from './errors.ts'

/** The bound of one query. */
export const queryMaxMs = 3_000

/** Every statement is written for this level. The role, the database and the server may have other defaults. */
export const beginStatement = 'BEGIN ISOLATION LEVEL READ COMMITTED'

export const inTransaction = <T>(
  source: ConnectionSource,
  beginStatements: string,
  work: (db: Db, client: ClientBase) => Promise<T>,
): Promise<T> =>
  withClient(source, async (client) => {
    await query(client, beginStatements, [], source.timeoutMs())
    const db = new PostgresDb({ acquire: async () => client, release() {}, timeoutMs: source.timeoutMs })
    const value = await work(db, client)
    const { command } = await query(client, 'COMMIT', [], source.timeoutMs())
    if (command !== 'COMMIT') throw rolledBack()
    return value
  })

const rolledBack = () => new DatabaseUnavailableError('The database did not accept the change.')

/** PostgreSQL reports this class of warnings if it committed without the confirmation of a synchronous standby. */
const warningCode = '01000'

/**
 * A transaction on a connection that sends statements without waiting for the results of those before. It begins with
 * its first statement. Its last statements and COMMIT are sent together.
 */
export class WriteTransaction extends PostgresDb implements Trx {
  readonly #client: ClientBase
  readonly #timeoutMs: () => number
  readonly #connection: PostgresConnection
  /** What the last statement appends to the change log, after the transaction has locked all rows that it needs. */
  readonly #log: Change[] = []
  /** The results of statements that were sent without waiting for them. */
  readonly #sent: Promise<unknown>[] = []
  #begun: Promise<unknown> | undefined
  #hasBegun = false
  #hasMutations = false
  #hasEnded = false
  #isClosed = false
  #firstFailure: unknown
  actor: string | null = null
  /** The error after which the connection must not be used again. */
  fault: unknown

  constructor(client: ClientBase, timeoutMs: () => number) {
    const source: ConnectionSource = {
      acquire: async () => client,
      release: (_client, error) => this.#checkConnection(error),
      timeoutMs,
      assertOpen: () => this.#assertOpen(),
      begin: () => (this.#hasBegun ? undefined : this.#begin()),
      onMutation: () => {
        this.#hasMutations = true
      },
      onError: (error) => {
        this.#firstFailure ??= error
      },
    }
    super(source)
    this.#client = client
    this.#timeoutMs = timeoutMs
    this.#connection = new PostgresConnection(client, source)
  }

  /** Without the overhead of Kysely. */
  override async runCompiled<R>(query: CompiledQuery<R>, parameters: readonly unknown[]) {
    return (await this.#executeQuery<R>({ ...query, parameters })).rows
  }

  async logChanges(changes: readonly Change[]): Promise<void> {
    this.#log.push(...changes)
  }

  /** Sends a statement without waiting for its result. The commit reports its error. */
  async send(statement: Compilable<unknown>): Promise<void> {
    const query = statement.compile(this)
    // PostgreSQL would not know of a statement that fails before it is sent, and would commit the others.
    assertParameters(query)
    this.#assertOpen()
    await this.#begin()
    this.#assertOpen()
    const result = this.#executeQuery(query)
    result.catch(() => {})
    this.#sent.push(result)
  }

  async lockName(name: string): Promise<void> {
    const key = sql`hashtextextended(current_schema() || ' ' || ${name}, 0)`
    await sql`SELECT pg_advisory_xact_lock(${key})`.execute(this)
  }

  /** Rejects all further statements: work that fails may leave some that would run in the next transaction. */
  close(): void {
    this.#isClosed = true
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new TransactionEndedError()
  }

  get hasChanges(): boolean {
    return this.#hasMutations || this.#log.length > 0
  }

  /** `isLogged`: the changes are counted in the version of the database. */
  async commit(isLogged: boolean): Promise<void> {
    if (!isLogged && this.#log.length > 0) throw new Error('Events need a logged transaction.')
    await this.#begin()
    const statements = [...this.#sent]
    if (isLogged) statements.push(this.#appendChanges())
    const commit = confirmed(this.#client, () => this.#execute('COMMIT'))
    const [end, ...others] = await Promise.allSettled([commit, ...statements])
    this.#hasEnded = true
    const failed = others.find((result) => result.status === 'rejected')
    if (!failed && end.status === 'fulfilled' && end.value.command === 'COMMIT') return
    // PostgreSQL responds to COMMIT of a failed transaction with ROLLBACK, and without an error.
    if (end.status === 'fulfilled' && end.value.command !== 'COMMIT') throw failed?.reason ?? rolledBack()
    // A statement failed before it was sent.
    if (end.status === 'fulfilled') throw unconfirmed(failed?.reason as Error)
    if (end.reason instanceof OutcomeUnknownError) throw end.reason
    const { cause } = end.reason as Error
    // Without a cause, COMMIT was not sent.
    throw cause === undefined || isNotExecuted(cause)
      ? (failed?.reason ?? end.reason)
      : unconfirmed(cause as Error)
  }

  /** Ends the transaction, unless it was committed. */
  async rollback(): Promise<void> {
    if (!this.#begun || this.#hasEnded || this.fault !== undefined) return
    await Promise.allSettled(this.#sent)
    if (this.fault === undefined) await this.#execute('ROLLBACK').catch(() => {})
  }

  /**
   * The cause of an error of the work: the error of a statement that was sent without waiting for it, or of one that was sent
   * at the same time. After a statement has failed, PostgreSQL rejects all others, and the work may notice their errors first.
   */
  async causeOf(error: unknown): Promise<unknown> {
    const results = await Promise.allSettled([this.#begun, ...this.#sent])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) return failed.reason
    return isInFailedTransaction(error) ? this.#firstFailure : error
  }

  /** Resolves when the transaction has begun. Otherwise each statement would be committed by itself. */
  #begin(): Promise<unknown> {
    if (!this.#begun) {
      this.#begun = this.#execute(beginStatement, 'petstore_begin')
      this.#begun.then(
        () => {
          this.#hasBegun = true
        },
        () => {},
      )
    }
    return this.#begun
  }

  #appendChanges() {
    const log = this.#log
    const text = 'SELECT append_changes_2($1, $2, $3, $4, $5)'
    const values = [
      log.map(({ type }) => type),
      log.map(({ createdAt }) => createdAt),
      log.map(({ data }) => data),
      log.map(({ isPrivate }) => Number(isPrivate)),
      log.map(() => this.actor),
    ]
    return query(this.#client, text, values, this.#timeoutMs(), 'petstore_append_changes')
  }

  #executeQuery<R>(query: CompiledQuery<R>) {
    const connection = this.#connection
    return connection.executeQuery<R>(query).finally(() => this.#checkConnection(connection.fault))
  }

  async #execute(statement: string, name?: string) {
    try {
      return await query(this.#client, statement, [], this.#timeoutMs(), name)
    } catch (error) {
      this.fault = error
      throw error
    }
  }

  /** After an error of the server the transaction can be rolled back, unless the server has become read-only. */
  #checkConnection(error: unknown): void {
    if (error === undefined) return
    const { cause } = error as Error
    if (!isNotExecuted(cause) || isReadOnly(cause)) this.fault = error
  }
}

/** Rejects if a commit was not confirmed by a synchronous standby. */
export async function confirmed<T>(client: ClientBase, commit: () => Promise<T>): Promise<T> {
  let hasWarning = false
  const onNotice = ({ code }: { code: string | undefined }) => {
    hasWarning ||= code === warningCode
  }
  client.on('notice', onNotice)
  try {
    const result = await commit()
    if (hasWarning) throw unconfirmed(new Error('no standby has confirmed it'))
    return result
  } finally {
    client.off('notice', onNotice)
  }
}

export const unconfirmed = (cause: Error) =>
  new OutcomeUnknownError(
    `The commit was not confirmed (${cause.message}). Check whether the change was applied before retrying.`,
    { cause },
  )
