import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { backupDatabase } from '../database/sqlite/backup.ts'
import { repairModes } from '../database/sqlite/files.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { parseArguments, printResult, UsageError } from './cli.ts'
import { embeddedDataDir } from './database.ts'

const usage = `petstore backup FILE [--json]

Writes a consistent copy of the embedded database to FILE. A server can use the database at the same time. FILE must not
exist.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArguments(args, usage, { json: { type: 'boolean' } }, 1)
  const [file] = positionals
  if (file === undefined) throw new UsageError(`backup needs the name of a file.\n\n${usage}`)
  if (existsSync(file)) throw new Error(`${file} exists already. Choose another name, or move the file away.`)
  if (!existsSync(dirname(file)))
    throw new Error(`The folder ${dirname(file)} does not exist. Create it first, or choose another one.`)
  const source = databaseFile(embeddedDataDir(env))
  if (!existsSync(source)) throw new Error(`There is no database at ${source}. Start the service once first.`)
  // Reading the database creates files next to it, which get its mode.
  repairModes(source)
  const bytes = await backupDatabase(source, file)
  printResult(values.json, { file, bytes }, `Backed up ${bytes} bytes to ${file}.`)
}
