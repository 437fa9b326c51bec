#!/usr/bin/env node
import { assetUrl, readAsset } from './assets.ts'
import { UsageError } from './commands/cli.ts'
import { ConfigError } from './config.ts'

/** Modules are loaded on demand, so that short commands start quickly. */
const commands: Record<string, { summary: string; load(): Promise<{ run: Command }> }> = {
  serve: { summary: 'start the service', load: () => import('./commands/serve.ts') },
  migrate: { summary: 'migrate the database schema', load: () => import('./commands/migrate.ts') },
  keys: { summary: 'manage API keys', load: () => import('./commands/keys.ts') },
  seed: { summary: 'add sample animals', load: () => import('./commands/seed.ts') },
  import: { summary: 'read data from NDJSON', load: () => import('./commands/import.ts') },
  export: { summary: 'write all data as NDJSON', load: () => import('./commands/export.ts') },
  backup: { summary: 'copy the embedded database', load: () => import('./commands/backup.ts') },
  restore: { summary: 'restore a backup', load: () => import('./commands/restore.ts') },
  openapi: { summary: 'print the OpenAPI description', load: () => import('./commands/openapi.ts') },
}

type Command = (args: string[], env: NodeJS.ProcessEnv) => Promise<void>

const help = `petstore <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(9)} ${summary}`)
  .join('\n')}

"petstore <command> --help" shows its options. Settings come from the environment: see docs/guides/running.md.
Exit status: 0 success, 1 failure, 2 wrong usage or configuration.`

async function main([name, ...args]: string[]): Promise<void> {
  if (name === undefined) throw new UsageError(help)
  if (name === '--help' || name === '-h' || name === 'help') {
    console.log(help)
    return
  }
  if (name === '--version') {
    console.log(JSON.parse(readAsset(assetUrl('../package.json'))).version)
    return
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new UsageError(`There is no command "${name}".\n\n${help}`)
  // Databases, backups and temporary files must be readable only by the user. The description of the API is not secret.
  if (name !== 'openapi') process.umask(0o077)
  const { run } = await command.load()
  await run(args, process.env)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1
})
