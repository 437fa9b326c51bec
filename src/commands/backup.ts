import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { backupDatabase, targetExists } from '../database/sqlite/backup.ts'
import { exists, repairModes } from '../database/sqlite/files.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { explainUnwritable, explainUnwritableFile, otherDataFolder } from '../database/sqlite/unwritable.ts'
import { printResult } from './cli.ts'
import { countedTables, describeCounts } from './counts.ts'
import { missingFile, sqliteDataDir, withOutcome } from './database.ts'
import type { Call } from './interface/define.ts'
import { interruptible } from './interruption.ts'
import { Progress } from './output/progress.ts'

export async function run({ env, options, args: [file = ''] }: Call): Promise<void> {
  if (existsSync(file)) throw targetExists(file)
  if (!existsSync(dirname(file)))
    throw new Error(`The folder ${dirname(file)} does not exist. Create it first, or choose another one.`)
  const dataDir = sqliteDataDir(env)
  const source = databaseFile(dataDir)
  const backUp = async (signal: AbortSignal) => {
    if (!exists(source)) throw missingFile(source)
    // Reading the database creates files next to it, which get its mode.
    repairModes(source)
    using progress = new Progress('Copying')
    const onProgress = (pages: number, share: number) => progress.show(pages, 'pages', share)
    return await backupDatabase(source, file, { tables: countedTables, onProgress, signal })
  }
  const { bytes, rows } = await interruptible(() => 'no backup was written', backUp).catch(
    (error: unknown) => {
      // Reading the database creates files next to it.
      const explained = explainUnwritable(explainUnwritableFile(error, file), dataDir, otherDataFolder)
      throw withOutcome('No backup was written.', explained)
    },
  )
  const sentence = `Backed up ${bytes} bytes to ${file}: ${describeCounts(rows)}.`
  printResult(options.json, { file, bytes, rows }, sentence)
}
