#!/usr/bin/env node
import { userInfo } from 'node:os'
import { styleText } from 'node:util'
import { assetUrl, decodeCommand, readAsset } from './assets.ts'
import { describeError } from './commands/cli.ts'
import { serviceOfThisProcess, useInstalledService } from './commands/installedService.ts'

/** As a shell reports a process that SIGPIPE ended. */
const closedPipeCode = 141

async function main(args: readonly string[]): Promise<void> {
  // Without the parser, which takes time to load.
  if (args.length === 1 && args[0] === 'serve') {
    process.umask(0o077)
    useInstalledService(process.env)
    const { run } = await import('./commands/serve.ts')
    return run({ env: process.env, options: {} })
  }
  if (args.length === 1 && args[0] === decodeCommand) {
    const { run } = await import('./commands/decodePhotos.ts')
    return run()
  }
  const { createProgram } = await import('./commands/interface/program.ts')
  const { version } = JSON.parse(readAsset(assetUrl('../package.json')))
  const program = createProgram(version)
  if (args.length === 0) program.help({ error: true })
  await program.parseAsync(args, { from: 'user' })
}

/** The reader of the output may close it at any time, as `| head` does. */
function onOutputError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(closedPipeCode)
  console.error(`The output cannot be written (${error.message}).`)
  process.exit(1)
}

if (process.stdout.listenerCount('error') === 0) process.stdout.on('error', onOutputError)
await main(process.argv.slice(2)).catch((error: unknown) => {
  const { exitCode = 1 } = error as { exitCode?: number }
  // Help and version are thrown too.
  if (exitCode === 0) return
  console.error(styleText('red', describeError(error), { stream: process.stderr }))
  process.exitCode = exitCode
  const service = serviceOfThisProcess()
  if (service && exitCode === 1)
    console.error(
      `This command ran as the user ${userInfo().username}, with the settings in ${service.settingsFile}.`,
    )
})
