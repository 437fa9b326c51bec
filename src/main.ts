#!/usr/bin/env node
import { UsageError } from './commands/arguments.ts'
import { ConfigError } from './config.ts'

/** A command's module, loaded only when it is asked for: a short command should start quickly. */
const commands: Record<string, CommandEntry> = {
  serve: { summary: 'start the service', load: () => import('./commands/serve.ts') },
  migrate: {
    summary: 'bring the schema of the store up to date',
    load: () => import('./commands/migrate.ts'),
  },
  keys: {
    summary: 'create, list, update, revoke, rotate, unban API keys',
    load: () => import('./commands/keys.ts'),
  },
  seed: { summary: 'add made-up animals to try things with', load: () => import('./commands/seed.ts') },
  import: {
    summary: 'read animals, categories, orders and, if asked to, keys from NDJSON',
    load: () => import('./commands/import.ts'),
  },
  export: { summary: 'write the whole store as NDJSON', load: () => import('./commands/export.ts') },
  backup: {
    summary: 'copy the store to a file, while it is in use',
    load: () => import('./commands/backup.ts'),
  },
  restore: { summary: 'replace the store by a backup', load: () => import('./commands/restore.ts') },
  openapi: {
    summary: 'print the OpenAPI description',
    load: () => import('./commands/openapi.ts'),
    hasPublicOutput: true,
  },
}

type CommandEntry = {
  readonly summary: string
  load(): Promise<{ run: Command }>
  /** Writes a file that holds nothing secret, with the mode that the user's own umask gives it. */
  readonly hasPublicOutput?: boolean
}

type Command = (args: string[], env: NodeJS.ProcessEnv) => Promise<void>

const help = `petstore <command> [options]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(9)} ${summary}`)
  .join('\n')}

petstore <command> --help says more. Settings come from the environment: see docs/guides/running.md.
Exit status: 0 done, 1 failed, 2 wrong usage or configuration.`

async function main([name, ...args]: string[]): Promise<void> {
  if (name === undefined) throw new UsageError(help)
  if (name === '--help' || name === '-h' || name === 'help') {
    console.log(help)
    return
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (!command) throw new UsageError(`There is no command "${name}".\n\n${help}`)
  // What a command writes (databases, backups, temporary files) is for its user alone.
  if (!command.hasPublicOutput) process.umask(0o077)
  const { run } = await command.load()
  await run(args, process.env)
}

await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = error instanceof UsageError || error instanceof ConfigError ? 2 : 1
})
