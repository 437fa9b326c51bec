import { existsSync } from 'node:fs'
import { byCommand } from '../audit/audit.ts'
import { carryOverAuditEntries, recordAudit } from '../audit/queries.ts'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { type ReplacedDatabase, restoreDatabase } from '../database/sqlite/restore.ts'
import { restartFeed } from '../events/queries.ts'
import { printResult } from './cli.ts'
import { countedTables, describeCounts } from './counts.ts'
import { sqliteDataDir, withOutcome } from './database.ts'
import type { Call } from './interface/define.ts'
import { interruptible } from './interruption.ts'
import { Progress } from './output/progress.ts'

export async function run({
  env,
  options,
  args: [file = ''],
}: Call<{ readonly replace?: boolean }>): Promise<void> {
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`)
  const dataDir = sqliteDataDir(env)
  const isReplacing = existsSync(databaseFile(dataDir))
  if (isReplacing && !options.replace)
    throw new Error(`There is already a database in ${dataDir}. Use --replace to replace it entirely.`)
  if (!isReplacing) console.error(`Creating the database ${databaseFile(dataDir)}.`)
  const now = systemClock()
  let isAuditLogLost = isReplacing
  const prepare = async (restored: Database, replaced: ReplacedDatabase) => {
    await restored.write((trx) => restartFeed(trx, replaced.lastChangeId))
    if (replaced.db) isAuditLogLost = !(await carryOverAuditEntries(restored, replaced.db))
    await restored.write((trx) =>
      recordAudit(trx, byCommand('restore', now), 'database.restored', 'database'),
    )
  }
  const restore = async (signal: AbortSignal) => {
    using progress = new Progress('Copying')
    const onProgress = (pages: number, share: number) => progress.show(pages, 'pages', share)
    return await restoreDatabase(file, dataDir, now, prepare, { tables: countedTables, onProgress, signal })
  }
  const { bytes, rows } = await interruptible(() => 'nothing was restored', restore).catch(
    (error: unknown) => {
      throw withOutcome('Nothing was restored.', error)
    },
  )
  const loss = isAuditLogLost ? ' The audit log of the replaced database could not be read.' : ''
  printResult(
    options.json,
    { file, bytes, rows, ...(isAuditLogLost && { isAuditLogLost }) },
    `Restored ${bytes} bytes from ${file}: ${describeCounts(rows)}.${loss}`,
  )
}
