import { existsSync, mkdirSync } from 'node:fs'
import { systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { restoreDatabase } from '../database/sqlite/backup.ts'
import { databaseFile } from '../database/sqlite/open.ts'
import { restartFeed } from '../events/queries.ts'
import { parseArguments, UsageError } from './arguments.ts'
import { embeddedOnlyMessage, printResult } from './store.ts'

const usage = `petstore restore FILE [--replace] [--json]

Makes the store what it was when FILE was written by "petstore backup". A store that is there already is replaced, all of
it, only with --replace. A server that has the store open goes on with the restored one.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values, positionals } = parseArguments(
    args,
    usage,
    { json: { type: 'boolean' }, replace: { type: 'boolean' } },
    ['file'],
  )
  const [file] = positionals
  if (file === undefined) throw new UsageError(`restore needs the name of a file.\n\n${usage}`)
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`)
  const { dataDir, databaseUrl } = readConfig(env)
  if (databaseUrl !== undefined) throw new Error(embeddedOnlyMessage)
  if (existsSync(databaseFile(dataDir)) && !values.replace) {
    throw new Error(`There is a store in ${dataDir} already: give --replace to replace it, all of it.`)
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const bytes = await restoreDatabase(file, dataDir, systemClock(), (restored, lastEventId) =>
    restored.write((trx) => restartFeed(trx, restored.dialect, lastEventId)),
  )
  printResult(values.json, { file, bytes }, `Restored ${bytes} bytes from ${file}.`)
}
