import type { Database } from './database/database.ts'
import { readMetadata } from './database/metadata.ts'

export type RestoreDetector = Awaited<ReturnType<typeof startRestoreDetector>>

/** Detects that a restore has replaced the database while the service is running. */
export async function startRestoreDetector({ read }: Database) {
  const readIdentity = (db: Database['read']) => readMetadata(db, 'identity')
  let identity = await readIdentity(read)
  let isPending = false
  let onRestore = async () => {}
  let running: Promise<boolean> | undefined

  async function apply(): Promise<boolean> {
    const current = await readIdentity(read)
    if (current === identity) return false
    isPending = true
    await onRestore()
    // Last: until then no counts of the previous database are written to the restored one.
    identity = current
    isPending = false
    return true
  }

  return {
    /** Whether a restore was detected and has not been applied yet. */
    isPending: () => isPending,
    /** Calls back after a restore, again until it succeeds. */
    onRestore(listener: () => Promise<void>): void {
      onRestore = listener
    },
    /** Whether this connection reads the database that the caches and counts of this process belong to. */
    isSameDatabase: async (db: Database['read']) => (await readIdentity(db)) === identity,
    /** Applies a restore, and returns whether there was one. Concurrent calls share one check. */
    check(): Promise<boolean> {
      running ??= apply().finally(() => {
        running = undefined
      })
      return running
    },
  }
}
