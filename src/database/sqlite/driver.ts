import type { DatabaseSync, SQLInputValue, StatementResultingChanges } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  type QueryResult,
  type SelectModifierNode,
  SqliteAdapter,
  SqliteQueryCompiler,
} from 'kysely'
import { DatabaseUnavailableError, TransactionEndedError } from '../database.ts'
import type { Change, Compilable, Db, SqlDialect, Trx } from '../db.ts'
import { sqliteDialect } from '../dialect.ts'
import { ExternalTransactionDriver, notSupported } from '../driver.ts'
import { insertMany } from '../preparedQuery.ts'
import { bigintColumns, changeLogTable, type Tables } from '../tables.ts'
import { StatementCache } from './statementCache.ts'

/** Without row locks. Write transactions are serialized, so there is no other transaction to lock rows against. */
class QueryCompiler extends SqliteQueryCompiler {
  protected override visitSelectModifier(node: SelectModifierNode): void {
    if (node.modifier === 'Distinct' || node.rawModifier) super.visitSelectModifier(node)
  }
}

/** Shared: making them takes longer than a statement. */
const adapter = new SqliteAdapter()
const queryCompiler = new QueryCompiler()

/**
 * Kysely on one `node:sqlite` connection. Several instances can share its prepared statements: there is one for each write.
 */
export class SqliteDb extends Kysely<Tables> implements Db {
  readonly dialect: SqlDialect = sqliteDialect
  readonly sqlite: SqliteConnection

  constructor(database: DatabaseSync, statements = new StatementCache(database)) {
    const sqlite = new SqliteConnection(database, statements)
    super({
      dialect: {
        createAdapter: () => adapter,
        createDriver: () =>
          Object.assign(new ExternalTransactionDriver(), { acquireConnection: async () => sqlite }),
        createIntrospector: notSupported,
        createQueryCompiler: () => queryCompiler,
      },
    })
    this.sqlite = sqlite
  }

  runCompiled<R>({ sql }: CompiledQuery<R>, parameters: readonly unknown[]): R[] {
    return this.sqlite.execute<R>(sql, parameters).rows
  }

  insertCompiled({ sql }: CompiledQuery, parameters: readonly unknown[]): number {
    return Number(this.sqlite.execute(sql, parameters).changes?.lastInsertRowid)
  }
}

const insertChanges = insertMany(changeLogTable, ['type', 'created_at', 'data', 'is_private', 'actor'])

/** The transaction of one write. It has the connection of the writer, like the writes before and after it. */
export class SqliteTrx extends SqliteDb implements Trx {
  actor: string | null = null

  async logChanges(changes: readonly Change[]): Promise<void> {
    const rows = changes.map(({ type, createdAt, data, isPrivate }) => [
      type,
      createdAt,
      data,
      +isPrivate,
      this.actor,
    ])
    await insertChanges(this, rows)
  }

  async send(statement: Compilable<unknown>): Promise<void> {
    const query = statement.compile(this)
    this.runCompiled(query, query.parameters)
  }

  async lockName(): Promise<void> {}
}

class SqliteConnection implements DatabaseConnection {
  readonly #connection: DatabaseSync
  readonly #statements: StatementCache
  readonly streamQuery = notSupported
  #hasEnded = false
  /** Whether a statement may have changed something. */
  hasMutations = false

  constructor(connection: DatabaseSync, statements: StatementCache) {
    this.#connection = connection
    this.#statements = statements
  }

  /** Rejects all further statements: work that fails may leave some that would run in the next transaction. */
  end(): void {
    this.#hasEnded = true
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { rows, changes } = this.execute<R>(query.sql, query.parameters)
    return changes ? { rows, numAffectedRows: BigInt(changes.changes) } : { rows }
  }

  /** Throws a DatabaseUnavailableError if the statement is not at fault. */
  execute<R>(
    text: string,
    parameters: readonly unknown[],
  ): { rows: R[]; changes?: StatementResultingChanges } {
    if (this.#hasEnded) throw new TransactionEndedError()
    try {
      const { statement, hasRows, isReadOnly } = this.#statements.get(text)
      if (!isReadOnly) this.hasMutations = true
      const values = parameters.map(toSqlite)
      if (hasRows) return { rows: statement.all(...values).map(fromSqlite) as R[] }
      return { rows: [], changes: statement.run(...values) }
    } catch (error) {
      if (!isUnavailable(error)) throw error
      throw new DatabaseUnavailableError('The database did not respond.', { cause: error })
    }
  }

  runScript(script: string): void {
    if (this.#hasEnded) throw new TransactionEndedError()
    this.hasMutations = true
    this.#connection.exec(script)
  }
}

// Result codes of SQLite. The lowest byte of an extended code is the primary code.
const codes = {
  busy: 5,
  locked: 6,
  noMemory: 7,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  notADatabase: 26,
}
const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) % 256

/** The disk has no space left. */
export const isFull = (error: unknown): boolean => codeOf(error) === codes.full

/** Another connection holds a conflicting lock. */
export const isLocked = (error: unknown): boolean => [codes.busy, codes.locked].includes(codeOf(error))

/** Reading, writing or syncing a file failed. */
export const isIoError = (error: unknown): boolean => codeOf(error) === codes.ioError

/** The file, the disk or the lock is at fault, not the statement. */
const isUnavailable = (error: unknown): boolean => Object.values(codes).includes(codeOf(error))

/** `node:sqlite` binds numbers as floating point, and bigints as integers. */
const toSqlite = (value: unknown): SQLInputValue =>
  (Number.isSafeInteger(value) ? BigInt(value as number) : value) as SQLInputValue

/** Converts integers to numbers, except in columns of `bigintColumns`. */
function fromSqlite(row: Record<string, unknown>): Record<string, unknown> {
  for (const column in row) {
    const value = row[column]
    if (typeof value === 'bigint' && !bigintColumns.has(column)) row[column] = Number(value)
  }
  return row
}
