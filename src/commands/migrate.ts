import { systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { migrateDatabase } from '../database/open.ts'
import { readArguments } from './arguments.ts'
import { report } from './store.ts'

const usage = `petstore migrate [--json]

Brings the schema of the store up to the one of this version. "serve" does so by itself unless PETSTORE_AUTO_MIGRATE is
false. Several at once do it once, one after another; there is no way back but a backup.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = readArguments(args, usage, { json: { type: 'boolean' } })
  const steps = await migrateDatabase(readConfig(env), systemClock())
  const sentence =
    steps.length === 0 ? 'The schema is up to date.' : `The schema is up to date now: ${steps.join(', ')}.`
  report(values.json, { steps }, sentence)
}
