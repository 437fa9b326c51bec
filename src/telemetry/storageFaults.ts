import type { Database } from '../database/database.ts'
import type { Log } from './log.ts'

const faultLevels = { failed: 'fatal', overdue: 'error', recovered: 'warn' } as const

/** Logs faults of the disk. Resolves when it has failed for good. */
export const reportStorageFaults = (database: Database, log: Log): Promise<void> =>
  new Promise((resolve) => {
    database.onStorageFault(({ kind, message, error }) => {
      log[faultLevels[kind]]({ err: error }, message)
      if (kind === 'failed') resolve()
    })
  })
