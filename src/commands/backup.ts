import { existsSync } from 'node:fs'
import { readConfig } from '../config.ts'
import { backupDatabase } from '../database/sqlite/backup.ts'
import { repairModes } from '../database/sqlite/files.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { parseArguments, UsageError } from './arguments.ts'
import { embeddedOnlyMessage, printResult } from './store.ts'

const usage = `petstore backup FILE [--json]

Copies the whole store to FILE, as it is at one moment, also while a server works on it. FILE must not exist yet.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArguments(args, usage, { json: { type: 'boolean' } }, ['file'])
  const [file] = positionals
  if (file === undefined) throw new UsageError(`backup needs the name of a file.\n\n${usage}`)
  if (existsSync(file)) throw new Error(`${file} exists already: choose another name, or move it away.`)
  const { dataDir, databaseUrl } = readConfig(env)
  if (databaseUrl !== undefined) throw new Error(embeddedOnlyMessage)
  const source = databaseFile(dataDir)
  if (!existsSync(source)) throw new Error(`There is no store at ${source} yet: start the service once.`)
  // Reading it creates files beside it, which get its mode.
  repairModes(source)
  const bytes = await backupDatabase(source, file)
  printResult(values.json, { file, bytes }, `Backed up ${bytes} bytes to ${file}.`)
}
