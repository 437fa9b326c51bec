import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { ClientBase, QueryArrayConfig, QueryConfig } from 'pg'
import { DatabaseUnavailableError } from '../database.ts'
import type { Tables } from '../tables.ts'
import { isReading } from '../writeQueue.ts'
import { isOutOfOrder, isStalePlan } from './errors.ts'

/** Where connections come from, and how long one may take to answer. */
export type Lease = {
  take(): Promise<ClientBase>
  giveBack(client: ClientBase, error?: unknown): void
  /** The bound of the next answer, in milliseconds. */
  answerMaxMs(): number
  /** Told of each statement that may have changed something, or has failed. */
  onTrace?(): void
}

/** Kysely over connections of `pg`. Transactions are not its business: the store's writer has them. */
export function postgresKysely(lease: Lease): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new LeasingDriver(lease),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}

/** Statements that are prepared once on every connection; all others are parsed each time. */
const namesMax = 256
const namedLengthMax = 4_000
const names = new Map<string, string>()
const rowsPerFetch = 500

function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= namesMax || text.length > namedLengthMax) return known
  const name = `petstore_${names.size + 1}`
  names.set(text, name)
  return name
}

/** Sends one query; a store that is at fault is told from a statement that is. */
export async function ask(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
  answerMaxMs: number,
  name?: string,
) {
  if (answerMaxMs <= 0) throw new DatabaseUnavailableError('The time for this change is up.')
  const query = { text, values: [...values], ...(name !== undefined && { name }), query_timeout: answerMaxMs }
  try {
    return await client.query(query as QueryConfig & Partial<QueryArrayConfig>)
  } catch (error) {
    if (!isOutOfOrder(error)) throw error
    throw new DatabaseUnavailableError('The store did not answer.', { cause: error })
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly client: ClientBase
  readonly #lease: Lease
  /** What broke the connection, if anything has. */
  fault: unknown
  #cursors = 0

  constructor(client: ClientBase, lease: Lease) {
    this.client = client
    this.#lease = lease
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const values = query.parameters.map(toPostgres)
    if (!isReading(query.sql)) this.#lease.onTrace?.()
    const result = await this.#ask(query.sql, values, nameOf(query.sql)).catch((error: unknown) => {
      // The schema has moved on under a prepared statement. Outside of a transaction it can be asked anew at once.
      if (!isStalePlan(error) || this.#isInTransaction()) throw error
      return this.#ask(query.sql, values)
    })
    return {
      rows: fromPostgres(result) as R[],
      ...(result.command !== 'SELECT' && { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    }
  }

  /** Rows by a cursor of the transaction that is open, so that other queries may come in between. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    const cursor = `rows_${++this.#cursors}`
    await this.#ask(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query.sql}`, query.parameters.map(toPostgres))
    for (;;) {
      const rows = fromPostgres(await this.#ask(`FETCH ${rowsPerFetch} FROM ${cursor}`, [])) as R[]
      if (rows.length === 0) break
      yield { rows }
    }
    await this.#ask(`CLOSE ${cursor}`, [])
  }

  async #ask(text: string, values: readonly unknown[], name?: string) {
    try {
      return await ask(this.client, text, values, this.#lease.answerMaxMs(), name)
    } catch (error) {
      this.#lease.onTrace?.()
      // A prepared statement that has gone stale stays so for as long as its connection.
      if (error instanceof DatabaseUnavailableError || isStalePlan(error)) this.fault = error
      throw error
    }
  }

  #isInTransaction(): boolean {
    return (this.client as { getTransactionStatus?: () => string }).getTransactionStatus?.() !== 'I'
  }
}

class LeasingDriver implements Driver {
  readonly #lease: Lease

  constructor(lease: Lease) {
    this.#lease = lease
  }

  async init() {}
  async acquireConnection() {
    return new PostgresConnection(await this.#lease.take(), this.#lease)
  }
  async beginTransaction() {
    throw new Error('Transactions go through Database.write.')
  }
  async commitTransaction() {}
  async rollbackTransaction() {}
  async releaseConnection(connection: PostgresConnection) {
    this.#lease.giveBack(connection.client, connection.fault)
  }
  async destroy() {}
}

const int8Max = 2n ** 63n - 1n

/** A number beyond 2^53 was an id in a request. It is nobody's, and so are the outermost that a column can hold. */
function toPostgres(value: unknown): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return value > 0 ? int8Max : -int8Max
}

type Answered = { fields: { name: string; dataTypeID: number }[]; rows: Record<string, unknown>[] }

const int8Type = 20

/** 64-bit integers arrive as text. They leave as numbers, save where tables.ts promises a bigint. */
function fromPostgres({ fields, rows }: Answered): Record<string, unknown>[] {
  for (const { name, dataTypeID } of fields) {
    if (dataTypeID !== int8Type) continue
    const convert = name === 'category_id' ? BigInt : Number
    for (const row of rows) if (row[name] !== null) row[name] = convert(row[name] as string)
  }
  return rows
}
