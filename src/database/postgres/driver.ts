import {
  type CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresAdapter,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely'
import type { ClientBase, QueryArrayConfig, QueryConfig } from 'pg'
import { DatabaseUnavailableError, LockTimeoutError } from '../database.ts'
import type { Db, SqlDialect } from '../db.ts'
import { postgresDialect } from '../dialect.ts'
import { ExternalTransactionDriver, isReadOnlyStatement, notSupported } from '../driver.ts'
import { bigintColumns, type Tables } from '../tables.ts'
import { isLockTimeout, isStalePlan, isUnavailable } from './errors.ts'

export type ConnectionSource = {
  acquire(): Promise<ClientBase>
  release(client: ClientBase, error?: unknown): void
  /** The bound of the next query. */
  timeoutMs(): number
  /** Throws after the end of the transaction. */
  assertOpen?(): void
  /** Called for each statement that may change something. */
  onMutation?(): void
  /** Called for each statement that fails, in the order of the statements. */
  onError?(error: unknown): void
  /** Sends the begin of the transaction before its first statement. Undefined when the transaction has begun. */
  begin?(): Promise<unknown> | undefined
}

const adapter = new PostgresAdapter()
/** Shared: making one takes longer than a statement. */
const queryCompiler = new PostgresQueryCompiler()

/** Kysely on connections of `pg`. */
export class PostgresDb extends Kysely<Tables> implements Db {
  readonly dialect: SqlDialect = postgresDialect

  constructor(source: ConnectionSource) {
    super({
      dialect: {
        createAdapter: () => adapter,
        createDriver: () =>
          Object.assign(new ExternalTransactionDriver(), {
            acquireConnection: async () => new PostgresConnection(await source.acquire(), source),
            releaseConnection: async ({ client, fault }: PostgresConnection) => source.release(client, fault),
          }),
        createIntrospector: notSupported,
        createQueryCompiler: () => queryCompiler,
      },
    })
  }

  async runCompiled<R>(query: CompiledQuery<R>, parameters: readonly unknown[]): Promise<readonly R[]> {
    return (await this.executeQuery<R>({ ...query, parameters })).rows
  }

  async insertCompiled(query: CompiledQuery, parameters: readonly unknown[]): Promise<number> {
    const [row] = await this.runCompiled(query as CompiledQuery<{ id: number }>, parameters)
    return (row as { id: number }).id
  }
}

/** Statements up to these bounds are prepared once on every connection. The others are parsed each time. */
const namesMax = 256
const namedLengthMax = 4_000
const names = new Map<string, string>()
let generation = 1

function nameOf(text: string): string | undefined {
  const known = names.get(text)
  if (known !== undefined || names.size >= namesMax || text.length > namedLengthMax) return known
  const name = `petstore_${generation}_${names.size + 1}`
  names.set(text, name)
  return name
}

/** After a migration the prepared statements of all connections may be stale. They are prepared again with new names. */
function forgetName(text: string, name: string): void {
  if (names.get(text) !== name) return
  names.clear()
  generation++
}

/** Sends one query. Throws a DatabaseUnavailableError if the statement is not at fault. */
export async function query(
  client: ClientBase,
  text: string,
  values: readonly unknown[],
  timeoutMs: number,
  name?: string,
) {
  if (timeoutMs <= 0) throw new DatabaseUnavailableError('The change did not complete in time.')
  const config = { text, values: [...values], ...(name !== undefined && { name }), query_timeout: timeoutMs }
  try {
    return await client.query(config as QueryConfig & Partial<QueryArrayConfig>)
  } catch (error) {
    if (!isUnavailable(error)) throw error
    if (isLockTimeout(error))
      throw new LockTimeoutError('The change waited too long for another one.', { cause: error })
    throw new DatabaseUnavailableError('The database did not respond.', { cause: error })
  }
}

/** Runs the work on one connection. After an error the connection is closed, which ends its transaction. */
export async function withClient<T>(source: ConnectionSource, work: (client: ClientBase) => Promise<T>) {
  const client = await source.acquire()
  let fault: unknown
  try {
    return await work(client)
  } catch (error) {
    fault = error
    throw error
  } finally {
    source.release(client, fault)
  }
}

export class PostgresConnection implements DatabaseConnection {
  readonly streamQuery = notSupported
  readonly client: ClientBase
  readonly #source: ConnectionSource
  /** The error after which the connection must not be used again. */
  fault: unknown

  constructor(client: ClientBase, source: ConnectionSource) {
    this.client = client
    this.#source = source
  }

  async executeQuery<R>(compiled: CompiledQuery): Promise<QueryResult<R>> {
    this.#source.assertOpen?.()
    const values = compiled.parameters.map(toPostgres)
    const begun = this.#source.begin?.()
    if (!isReadOnlyStatement(compiled.sql)) {
      this.#source.onMutation?.()
      // If the begin failed, the change would be committed by itself. Later statements are sent at once, in order.
      if (begun) {
        await begun
        this.#source.assertOpen?.()
      }
    }
    const name = nameOf(compiled.sql)
    const result = await this.#query(compiled.sql, values, name).catch((error: unknown) => {
      if (name === undefined || !isStalePlan(error)) throw error
      forgetName(compiled.sql, name)
      // In a transaction, which has failed, the writer repeats all of it.
      if (this.client.getTransactionStatus() !== 'I') throw error
      return this.#query(compiled.sql, values, nameOf(compiled.sql))
    })
    return {
      rows: fromPostgres(result) as R[],
      ...(result.command !== 'SELECT' && { numAffectedRows: BigInt(result.rowCount ?? 0) }),
    }
  }

  async #query(text: string, values: readonly unknown[], name?: string) {
    try {
      const result = query(this.client, text, values, this.#source.timeoutMs(), name)
      await Promise.all([this.#source.begin?.(), result])
      return await result
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) this.fault = error
      this.#source.onError?.(error)
      throw error
    }
  }
}

const int8Max = 2n ** 63n - 1n

const isBeyondIds = (value: unknown): boolean => typeof value === 'number' && !Number.isSafeInteger(value)

/** A number beyond 2^53 is an id from a request that no row has. It is replaced by the limit of the column type. */
function toPostgres(value: unknown): unknown {
  if (Array.isArray(value)) return value.some(isBeyondIds) ? value.map(toPostgres) : value
  if (typeof value !== 'number' || !isBeyondIds(value)) return value
  return value > 0 ? int8Max : -int8Max
}

/** `pg` would convert another object to JSON, which can fail. */
export function assertParameters({ parameters }: CompiledQuery): void {
  for (const value of parameters) {
    const isConverted = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (isConverted && !(value instanceof Uint8Array)) throw new TypeError('A parameter is an object.')
  }
}

type PgResult = { fields: { name: string; dataTypeID: number }[]; rows: Record<string, unknown>[] }

const int8Type = 20

/** `pg` returns 64-bit integers as text. Converts them to numbers, or to bigints in columns of `bigintColumns`. */
function fromPostgres({ fields, rows }: PgResult): Record<string, unknown>[] {
  for (const { name, dataTypeID } of fields) {
    if (dataTypeID !== int8Type) continue
    const convert = bigintColumns.has(name) ? BigInt : Number
    for (const row of rows) if (row[name] !== null) row[name] = convert(row[name] as string)
  }
  return rows
}
