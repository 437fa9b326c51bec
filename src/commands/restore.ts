import { existsSync } from 'node:fs'
import { byCommand } from '../audit/audit.ts'
import { carryOverAuditEntries, recordAudit } from '../audit/queries.ts'
import { systemClock } from '../clock.ts'
import { restoreDatabase } from '../database/sqlite/backup.ts'
import { createFolder } from '../database/sqlite/files.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { restartFeed } from '../events/queries.ts'
import { printResult } from './cli.ts'
import { embeddedDataDir } from './database.ts'
import type { Call } from './interface/define.ts'

type Options = { readonly replace?: boolean }

export async function run({ env, options, args: [file = ''] }: Call<Options>): Promise<void> {
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`)
  const dataDir = embeddedDataDir(env)
  const isReplacing = existsSync(databaseFile(dataDir))
  if (isReplacing && !options.replace)
    throw new Error(`There is already a database in ${dataDir}. Use --replace to replace it entirely.`)
  createFolder(dataDir)
  const now = systemClock()
  let isAuditLogLost = isReplacing
  const bytes = await restoreDatabase(file, dataDir, now, async (restored, replaced) => {
    await restored.write((trx) => restartFeed(trx, restored.dialect, replaced.lastChangeId))
    if (replaced.db) isAuditLogLost = !(await carryOverAuditEntries(restored, replaced.db))
    await restored.write((trx) =>
      recordAudit(trx, byCommand('restore', now), 'database.restored', 'database'),
    )
  })
  const loss = isAuditLogLost ? ' The audit log of the replaced database could not be read.' : ''
  printResult(
    options.json,
    { file, bytes, ...(isAuditLogLost && { isAuditLogLost }) },
    `Restored ${bytes} bytes from ${file}.${loss}`,
  )
}
