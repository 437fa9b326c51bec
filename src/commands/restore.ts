import { existsSync, mkdirSync } from 'node:fs'
import { byCommand } from '../audit/audit.ts'
import { carryOverAuditEntries, recordAudit } from '../audit/queries.ts'
import { systemClock } from '../clock.ts'
import { restoreDatabase } from '../database/sqlite/backup.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { restartFeed } from '../events/queries.ts'
import { parseArguments, printResult, UsageError } from './cli.ts'
import { embeddedDataDir } from './database.ts'

const usage = `petstore restore FILE [--replace] [--json]

Restores the embedded database from a FILE that "petstore backup" wrote. An existing database is replaced entirely, and
only with --replace, except that the entries of its audit log are kept. A running server continues with the restored
database.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const options = { json: { type: 'boolean' }, replace: { type: 'boolean' } } as const
  const { values, positionals } = parseArguments(args, usage, options, 1)
  const [file] = positionals
  if (file === undefined) throw new UsageError(`restore needs the name of a file.\n\n${usage}`)
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`)
  const dataDir = embeddedDataDir(env)
  const isReplacing = existsSync(databaseFile(dataDir))
  if (isReplacing && !values.replace)
    throw new Error(`There is already a database in ${dataDir}. Use --replace to replace it entirely.`)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
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
    values.json,
    { file, bytes, ...(isAuditLogLost && { isAuditLogLost }) },
    `Restored ${bytes} bytes from ${file}.${loss}`,
  )
}
