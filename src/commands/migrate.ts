import { systemClock } from '../clock.ts'
import { migrateDatabase } from '../database/open.ts'
import { printResult } from './cli.ts'
import { commandConfig, onMissingDatabase } from './database.ts'
import type { Call } from './interface/define.ts'

export async function run({ env, options }: Call): Promise<void> {
  const config = commandConfig(env)
  const location = { ...config, onMissing: onMissingDatabase(config, true) }
  const steps = await migrateDatabase(location, systemClock())
  const sentence =
    steps.length === 0 ? 'The schema is up to date.' : `The schema is up to date now: ${steps.join(', ')}.`
  printResult(options.json, { steps }, sentence)
}
