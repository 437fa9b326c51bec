import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { backupDatabase, type RowCounts } from '../database/sqlite/backup.ts'
import { repairModes } from '../database/sqlite/files.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { printResult } from './cli.ts'
import { embeddedDataDir } from './database.ts'
import type { Call } from './interface/define.ts'
import { Progress } from './output/progress.ts'

export async function run({ env, options, args: [file = ''] }: Call): Promise<void> {
  if (existsSync(file)) throw new Error(`${file} exists already. Choose another name, or move the file away.`)
  if (!existsSync(dirname(file)))
    throw new Error(`The folder ${dirname(file)} does not exist. Create it first, or choose another one.`)
  const source = databaseFile(embeddedDataDir(env))
  if (!existsSync(source))
    throw new Error(`There is no database at ${source}. Start the service, or set PETSTORE_DATA_DIR.`)
  // Reading the database creates files next to it, which get its mode.
  repairModes(source)
  const progress = new Progress('Copying')
  const { bytes, rows } = await backupDatabase(source, file, (pages, share) =>
    progress.show(pages, 'pages', share),
  )
  progress.end()
  printResult(
    options.json,
    { file, bytes, rows },
    `Backed up ${bytes} bytes to ${file}: ${describeRows(rows)}.`,
  )
}

export const describeRows = ({ pets, categories, orders, keys }: RowCounts): string =>
  `${pets} animals, ${categories} categories, ${orders} orders and ${keys} keys`
