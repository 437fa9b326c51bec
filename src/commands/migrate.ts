import { systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { migrateDatabase } from '../database/open.ts'
import { parseArguments, printResult } from './cli.ts'

const usage = `petstore migrate [--json]

Migrates the schema of the database to this version. "serve" does so at its start unless PETSTORE_AUTO_MIGRATE is false.
It is safe to run several at the same time. A migration cannot be undone: make a backup first.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = parseArguments(args, usage, { json: { type: 'boolean' } })
  const steps = await migrateDatabase(readConfig(env), systemClock())
  const sentence =
    steps.length === 0 ? 'The schema is up to date.' : `The schema is up to date now: ${steps.join(', ')}.`
  printResult(values.json, { steps }, sentence)
}
