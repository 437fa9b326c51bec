/**
 * Runs the service on Bun for a test on Node: `bun test/support/bunHost.ts`. The folder of the argument has the
 * options, the time and the log as files, because a test moves the clock and reads the log without waiting.
 * Prints a line of JSON when the service is up. Stops when standard input ends.
 */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { redactor } from '../../src/auth/apiKey.ts'
import { ConfigError, readConfig } from '../../src/config.ts'
import { startService } from '../../src/service.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { clockBytes, type HostOptions, hostFiles } from './bunService.ts'

const folder = process.argv[2] ?? ''
const options: HostOptions = JSON.parse(readFileSync(join(folder, hostFiles.options), 'utf8'))
const clockFile = openSync(join(folder, hostFiles.clock), 'r')
const logFile = openSync(join(folder, hostFiles.log), 'a')
const bytes = Buffer.alloc(clockBytes)
const clock = () => {
  readSync(clockFile, bytes, 0, clockBytes, 0)
  return Number(bytes.toString('latin1'))
}
const { log } = createLog({
  level: 'info',
  redact: redactor(options.env.PETSTORE_ADMIN_KEY),
  stream: { write: (line: string) => void writeSync(logFile, line) },
})
const print = (message: unknown) => console.log(JSON.stringify(message))

try {
  const { env, bounds, nameServers, additional } = options
  const service = await startService({
    config: readConfig(env),
    clock,
    limitClock: clock,
    log,
    bounds,
    ...(nameServers && { nameServers }),
    ...(additional && { additional: await import(additional) }),
  })
  print({ port: service.port, newOperatorKey: service.newOperatorKey })
  void service.failed.then(() => print({ failed: true }))
  process.stdin.resume().on('end', async () => {
    await service.stop()
    closeSync(clockFile)
    process.exit()
  })
} catch (error) {
  const configProblems = error instanceof ConfigError ? error.problems : undefined
  print({ error: { message: (error as Error).message, configProblems } })
  process.exit(1)
}
