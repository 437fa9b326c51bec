import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { DatabaseUnavailableError } from '../database.ts'
import type { Tables } from '../tables.ts'
import { isReading } from '../writeQueue.ts'

/** Kysely over one `node:sqlite` connection. Transactions are not its business: the store's writer has them. */
export function sqliteKysely(connection: DatabaseSync): Kysely<Tables> {
  const own = new SqliteConnection(connection)
  const db = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new OneConnectionDriver(own),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  connections.set(db, own)
  return db
}

const connections = new WeakMap<Kysely<Tables>, SqliteConnection>()

/** The rows of a query that is compiled already, where the store is embedded: nothing there has to be waited for. */
export const querySync = <R>(
  db: Kysely<Tables>,
  text: string,
  parameters: readonly unknown[],
): R[] | undefined => connections.get(db)?.query<R>(text, parameters)

/** Likewise an insert of one row; answers its id. */
export const insertSync = (
  db: Kysely<Tables>,
  text: string,
  parameters: readonly unknown[],
): number | undefined => connections.get(db)?.insert(text, parameters)

/** How many statements so far may have changed something. */
export const tracesOf = (db: Kysely<Tables>): number => connections.get(db)?.traces ?? 0

const statementsKeptMax = 256

type Prepared = { statement: StatementSync; hasRows: boolean; isReading: boolean }

class SqliteConnection implements DatabaseConnection {
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, Prepared>()
  traces = 0

  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return this.#execute(query)
    } catch (error) {
      return refuse(error)
    }
  }

  query<R>(text: string, parameters: readonly unknown[]): R[] {
    try {
      const { statement, hasRows } = this.#prepare(text)
      const given = parameters.map(toSqlite)
      if (hasRows) return statement.all(...given).map(fromSqlite) as R[]
      statement.run(...given)
      return []
    } catch (error) {
      return refuse(error)
    }
  }

  insert(text: string, parameters: readonly unknown[]): number {
    try {
      return Number(this.#prepare(text).statement.run(...parameters.map(toSqlite)).lastInsertRowid)
    } catch (error) {
      return refuse(error)
    }
  }

  #execute<R>(query: CompiledQuery): QueryResult<R> {
    const { statement, hasRows } = this.#prepare(query.sql)
    const parameters = query.parameters.map(toSqlite)
    if (hasRows) {
      return { rows: statement.all(...parameters).map(fromSqlite) as R[] }
    }
    const { changes, lastInsertRowid } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }

  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    const statement = this.#connection.prepare(query.sql)
    statement.setReadBigInts(true)
    for (const row of statement.iterate(...query.parameters.map(toSqlite))) {
      yield { rows: [fromSqlite(row) as R] }
    }
  }

  #prepare(text: string): Prepared {
    let prepared = this.#statements.get(text)
    if (!prepared) {
      const statement = this.#connection.prepare(text)
      statement.setReadBigInts(true)
      prepared = { statement, hasRows: statement.columns().length > 0, isReading: isReading(text) }
      if (this.#statements.size >= statementsKeptMax) {
        this.#statements.delete(this.#statements.keys().next().value as string)
      }
      this.#statements.set(text, prepared)
    }
    if (!prepared.isReading) this.traces++
    return prepared
  }
}

class OneConnectionDriver implements Driver {
  readonly #connection: SqliteConnection

  constructor(connection: SqliteConnection) {
    this.#connection = connection
  }

  async init() {}
  async acquireConnection() {
    return this.#connection
  }
  async beginTransaction() {
    throw new Error('Transactions go through Database.write.')
  }
  async commitTransaction() {}
  async rollbackTransaction() {}
  async releaseConnection() {}
  async destroy() {}
}

// Result codes of SQLite; an extended code has the plain one in its lowest byte.
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
const lockCodes: number[] = [codes.busy, codes.locked]
const outOfOrderCodes: number[] = Object.values(codes)
const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) % 256

/** Another connection is in the way. */
export const isLocked = (error: unknown): boolean => lockCodes.includes(codeOf(error))

/** Reading, writing or syncing a file has failed. */
export const isIoError = (error: unknown): boolean => codeOf(error) === codes.ioError

/** The file, the disk or the lock is at fault, not the statement. */
const isOutOfOrder = (error: unknown): boolean => outOfOrderCodes.includes(codeOf(error))

function refuse(error: unknown): never {
  if (!isOutOfOrder(error)) throw error
  throw new DatabaseUnavailableError('The store did not answer.', { cause: error })
}

/** Whole numbers are bound as integers: `node:sqlite` would bind them as floating point. */
const toSqlite = (value: unknown): SQLInputValue =>
  (Number.isSafeInteger(value) ? BigInt(value as number) : value) as SQLInputValue

/** Integers leave as numbers, save where tables.ts promises a bigint. */
function fromSqlite(row: Record<string, unknown>): Record<string, unknown> {
  for (const column in row) {
    const value = row[column]
    if (typeof value === 'bigint' && column !== 'category_id') row[column] = Number(value)
  }
  return row
}
