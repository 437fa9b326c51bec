import { systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { migrateStore } from '../database/open.ts'
import { parseArguments } from './arguments.ts'
import { printResult } from './store.ts'

const usage = `petstore migrate [--json]

Brings the schema of the store up to the one of this version. "serve" does so by itself unless PETSTORE_AUTO_MIGRATE is
false. Several at once do it once, one after another; there is no way back but a backup.`

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  const { values } = parseArguments(args, usage, { json: { type: 'boolean' } })
  const steps = await migrateStore(readConfig(env), systemClock())
  const sentence =
    steps.length === 0 ? 'The schema is up to date.' : `The schema is up to date now: ${steps.join(', ')}.`
  printResult(values.json, { steps }, sentence)
}
