import { systemClock } from '../clock.ts'
import { migrateDatabase } from '../database/open.ts'
import { printResult } from './cli.ts'
import { commandConfig, onMissingDatabase } from './database.ts'
import type { Call } from './interface/define.ts'

export async function run({ env, options }: Call): Promise<void> {
  const config = commandConfig(env)
  const steps = await migrateDatabase(
    { ...config, onMissing: onMissingDatabase(config, true) },
    systemClock(),
  )
  const sentence =
    steps.length === 0 ? 'The schema is up to date.' : `The schema is up to date now: ${steps.join(', ')}.`
  printResult(options.json, { steps }, sentence)
}
