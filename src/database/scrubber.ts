import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'

const retryMs = 100
/** Whoever reads for longer than this is not an export or a backup, but has been forgotten. */
const attemptsMax = (24 * 60 * 60 * 1000) / retryMs

/** Deleted rows are zeroed in their pages; this empties the log of pages beside them, once nobody reads from it. */
export function scrubber(writer: DatabaseSync): () => void {
  let isRunning = false
  return async () => {
    // A round that is under way has not emptied the log yet, so it will empty it of this as well.
    if (isRunning) return
    isRunning = true
    for (let attempt = 0; attempt < attemptsMax && writer.isOpen && !isEmptied(writer); attempt++) {
      await pause(retryMs, undefined, { ref: false })
    }
    isRunning = false
  }
}

function isEmptied(writer: DatabaseSync): boolean {
  if (writer.isTransaction) return false
  try {
    return writer.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.busy === 0
  } catch {
    // Whatever is in the way may be gone the next time; if the file is at fault, every other use of it says so.
    return false
  }
}
