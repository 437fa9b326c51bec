import type { DatabaseSync } from 'node:sqlite'
import type { WriteQueue } from '../writeQueue.ts'
import { isLocked } from './driver.ts'

const foreignChangePollMs = 500

/** Notes which animals the writer changes or removes, and tells of them with the commit. */
export function touchedPets(writer: DatabaseSync) {
  const ids = new Set<number>()
  let listener: ((id: number) => void) | undefined
  return {
    watch(told: (id: number) => void) {
      listener = told
      writer.function('touched_pet', (id) => {
        ids.add(Number(id))
        return null
      })
      for (const change of ['UPDATE', 'DELETE'])
        writer.exec(
          `CREATE TEMP TRIGGER touched_by_${change} AFTER ${change} ON main.pets BEGIN SELECT touched_pet(OLD.id); END`,
        )
    },
    /** Reads after the commit must see the change. */
    tell() {
      if (ids.size === 0) return
      for (const id of ids) listener?.(id)
      ids.clear()
    },
  }
}

/**
 * SQLite counts for each connection what all others have committed: for the reader, the writer beside it included. It is
 * asked once in a turn of the event loop: what has come in by then was sent before.
 */
export function versionOf(connection: DatabaseSync, queue: WriteQueue): () => number {
  const statement = connection.prepare('PRAGMA data_version')
  let version: number | undefined
  let unknown = -1
  const forget = () => {
    version = undefined
  }
  queue.onCommit(forget)
  return () => {
    if (version === undefined) {
      try {
        version = Number(statement.get()?.data_version)
      } catch (error) {
        // Another process holds an exclusive lock on the database.
        if (!isLocked(error)) throw error
        version = --unknown
      }
      setImmediate(forget)
    }
    return version
  }
}

/** SQLite counts the commits of other connections; the reader here never commits, so they are other processes'. */
export function watchForeignChanges(writer: DatabaseSync, sync?: () => Promise<void>) {
  const statement = writer.prepare('PRAGMA data_version')
  const version = () => statement.get()?.data_version
  const listeners: (() => void)[] = []
  let seen = version()
  const notify = () => {
    for (const listener of listeners) listener()
  }
  const timer = setInterval(() => {
    try {
      const current = version()
      if (current === seen) return
      seen = current
    } catch {
      // Another process holds an exclusive lock on the database, or the file is damaged, which every read will report.
    }
    notify()
    // What has waited for the change to be durable is told again.
    sync?.().then(notify, () => {})
  }, foreignChangePollMs)
  timer.unref()
  return {
    listen: (listener: () => void) => void listeners.push(listener),
    stop: () => clearInterval(timer),
  }
}
