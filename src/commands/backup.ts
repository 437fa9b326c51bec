import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { backupDatabase } from '../database/sqlite/backup.ts'
import { isFull } from '../database/sqlite/driver.ts'
import { repairModes } from '../database/sqlite/files.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { describeCounts, printResult } from './cli.ts'
import { embeddedDataDir, missingFile } from './database.ts'
import type { Call } from './interface/define.ts'
import { Progress } from './output/progress.ts'

export async function run({ env, options, args: [file = ''] }: Call): Promise<void> {
  if (existsSync(file)) throw new Error(`${file} exists already. Choose another name, or move the file away.`)
  if (!existsSync(dirname(file)))
    throw new Error(`The folder ${dirname(file)} does not exist. Create it first, or choose another one.`)
  const source = databaseFile(embeddedDataDir(env))
  if (!existsSync(source)) throw missingFile(source)
  // Reading the database creates files next to it, which get its mode.
  repairModes(source)
  const progress = new Progress('Copying')
  const { bytes, rows } = await backupDatabase(source, file, (pages, share) =>
    progress.show(pages, 'pages', share),
  ).catch((error: unknown) => {
    if (!isFull(error)) throw error
    throw new Error(`No backup was written: the disk of ${file} has no space left.`)
  })
  progress.end()
  printResult(
    options.json,
    { file, bytes, rows },
    `Backed up ${bytes} bytes to ${file}: ${describeCounts(rows)}.`,
  )
}
