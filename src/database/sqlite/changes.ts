import type { DatabaseSync } from 'node:sqlite'
import type { RowSource } from '../tables.ts'
import { isLocked } from './driver.ts'
import type { WriteQueue } from './writeQueue.ts'

/** Collects the ids that the changes of the writer concern, with temporary triggers, and reports them at the commit. */
export class RowChanges {
  readonly #writer: DatabaseSync
  readonly #changes: { readonly listener: (id: number) => void; readonly ids: Set<number> }[] = []

  constructor(writer: DatabaseSync) {
    this.#writer = writer
  }

  watch(sources: readonly RowSource[], listener: (id: number) => void): void {
    const ids = new Set<number>()
    this.#changes.push({ listener, ids })
    const name = `row_changed_${this.#changes.length}`
    this.#writer.function(name, (id) => {
      ids.add(Number(id))
      return null
    })
    for (const { table, column } of sources) {
      const [before, after] = [`OLD.${column}`, `NEW.${column}`]
      const calls = {
        INSERT: `SELECT ${name}(${after})`,
        UPDATE: `SELECT ${name}(${before}); SELECT ${name}(${after}) WHERE ${after} IS NOT ${before}`,
        DELETE: `SELECT ${name}(${before})`,
      }
      for (const [operation, call] of Object.entries(calls))
        this.#writer.exec(
          `CREATE TEMP TRIGGER ${name}_${table}_${operation} AFTER ${operation} ON main.${table} BEGIN ${call}; END`,
        )
    }
  }

  /** Runs synchronously with COMMIT, before any read. */
  report(): void {
    for (const { listener, ids } of this.#changes) {
      for (const id of ids) listener(id)
      ids.clear()
    }
  }
}

/**
 * A number that changes with every commit of another connection; for the reader, the writer of this process is one. It is
 * queried once in each iteration of the event loop: the requests of an iteration were sent before the query, so they need
 * not see a later commit of another process.
 */
export function databaseVersionReader(connection: DatabaseSync, queue: WriteQueue): () => number {
  const statement = connection.prepare('PRAGMA data_version')
  let version: number | undefined
  let unknown = -1
  const reset = () => {
    version = undefined
  }
  queue.onCommit(reset)
  return () => {
    if (version === undefined) {
      try {
        version = Number(statement.get()?.data_version)
      } catch (error) {
        // Another process holds an exclusive lock on the database.
        if (!isLocked(error)) throw error
        version = --unknown
      }
      setImmediate(reset)
    }
    return version
  }
}
