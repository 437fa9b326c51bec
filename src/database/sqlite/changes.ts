import type { DatabaseSync } from 'node:sqlite'
import { pollForChanges } from '../changePoller.ts'
import type { WriteQueue } from '../writeQueue.ts'
import { isLocked } from './driver.ts'

const defaultPollMs = 500

/** Collects the ids of the rows that the writer updates or deletes, and reports them at the commit. */
export class RowChanges {
  readonly #writer: DatabaseSync
  readonly #changes: { readonly listener: (id: number) => void; readonly ids: Set<number> }[] = []

  constructor(writer: DatabaseSync) {
    this.#writer = writer
  }

  watch(table: string, listener: (id: number) => void): void {
    const ids = new Set<number>()
    this.#changes.push({ listener, ids })
    const name = `row_changed_${this.#changes.length}`
    this.#writer.function(name, (id) => {
      ids.add(Number(id))
      return null
    })
    for (const operation of ['UPDATE', 'DELETE'])
      this.#writer.exec(
        `CREATE TEMP TRIGGER ${name}_${operation} AFTER ${operation} ON main.${table} BEGIN SELECT ${name}(OLD.id); END`,
      )
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
 * queried once in each iteration of the event loop: requests that have arrived by then were sent before.
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

/** Polls the version of the writer. The reader never commits, so a new version is a commit of another process. */
export function watchExternalChanges(
  writer: DatabaseSync,
  durability: { syncCommit(): Promise<void> } | undefined,
  pollMs = defaultPollMs,
) {
  const statement = writer.prepare('PRAGMA data_version')
  const version = () => statement.get()?.data_version
  let seen = version()
  return pollForChanges((notify) => {
    try {
      const current = version()
      if (current === seen) return
      seen = current
    } catch {
      // Another process holds an exclusive lock on the database, or the file is damaged, which every read reports.
    }
    notify()
    // Listeners that need the change to be durable are called again after the sync.
    void durability?.syncCommit().then(notify, () => {})
  }, pollMs)
}
