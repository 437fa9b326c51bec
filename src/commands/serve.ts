import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { redactor } from '../auth/apiKey.ts'
import { systemClock } from '../clock.ts'
import { type Config, defaultPort, readServerConfig, unknownSettingWarnings } from '../config.ts'
import { DiskUnresponsiveError } from '../database/database.ts'
import { urlWithoutCredentials } from '../database/open.ts'
import { type Service, startService } from '../service.ts'
import { LineWriter } from '../telemetry/lineWriter.ts'
import { createLog, type Log, lossLine } from '../telemetry/log.ts'
import { explainDatabaseError } from './database.ts'
import type { Call } from './interface/define.ts'
import { sameSignalMs } from './interruption.ts'

const standardError = 2
/** Longer than clients have to read their responses. */
const stopMaxMs = 15_000

/** The stop took too long. The message names what it waited for. */
class StopTimeoutError extends Error {}

export async function run({ env, options }: Pick<Call, 'env' | 'options'>): Promise<void> {
  const config = await readServerConfig(env)
  const isTerminal = process.stderr.isTTY
  const format = config.logFormat === 'auto' ? (isTerminal ? 'text' : 'json') : config.logFormat
  const redact = redactor(config.adminKey)
  // Standard output is for people and scripts.
  const output = new LineWriter(standardError, { describeLoss: (count) => lossLine(count, format) })
  const { log, hideRequests } = createLog({ level: config.logLevel, redact, format, stream: output })
  function exit(isStuck: boolean): never {
    // A thread that waits for the disk or for the reader of a pipe prevents a normal exit.
    if (isStuck) process.kill(process.pid, 'SIGKILL')
    process.exit()
  }
  let service: Service | undefined
  let stoppingSince: number | undefined
  const end = async (started: Service) => {
    stoppingSince = performance.now()
    const isStuck = await stopWithin(stopMaxMs, started, log)
    await output.close()
    exit(isStuck || output.isBlocked)
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined && performance.now() - stoppingSince < sameSignalMs) return
    if (!service || stoppingSince !== undefined) {
      process.exitCode = 1
      output.abandon()
      exit(output.isBlocked)
    }
    log.info({ signal }, 'stopping')
    void end(service)
  }
  // Before the start: the first process of a container ignores signals that it does not handle.
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  const started = await startService({ config, clock: systemClock, log }).catch((error: unknown) => {
    throw explainDatabaseError(addressError(error, config), config)
  })
  service = started
  void started.failed.then(() => {
    process.exitCode = 1
    if (stoppingSince === undefined) void end(started)
  })
  for (const warning of unknownSettingWarnings(env)) log.warn(warning)
  // Printed last: from here on the service can be stopped cleanly.
  log.info({ port: started.port, environment: config.environment }, 'started')
  if (options.json) return console.log(JSON.stringify(addresses(config, started)))
  // The key is shown once. Lines of the log that follow would move it out of sight.
  const isKeyKept =
    isTerminal && process.stdout.isTTY && format === 'text' && started.newOperatorKey !== undefined
  if (isKeyKept) hideRequests()
  if (isTerminal) await output.flush()
  console.log(startMessage(config, started, isKeyKept))
}

/** Returns whether a thread may be left that cannot be stopped, because it waits for the disk. */
export async function stopWithin(ms: number, service: Service, log: Log): Promise<boolean> {
  const tooLate = pause(ms).then(() => {
    const { step } = service.stopProgress
    throw new StopTimeoutError(`The service did not stop within ${ms} ms: it still waits for ${step}.`)
  })
  try {
    await Promise.race([service.stop(), tooLate])
    log.info('stopped')
    return false
  } catch (error) {
    log.error({ err: error }, 'stopping failed')
    process.exitCode = 1
    return error instanceof DiskUnresponsiveError || error instanceof StopTimeoutError
  }
}

function addresses(config: Config, { port, newOperatorKey }: Service) {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const base = `http://${['0.0.0.0', '[::]'].includes(host) ? 'localhost' : host}:${port}`
  const { databaseUrl, dataDir, environment } = config
  const data = databaseUrl === undefined ? dataDir : `PostgreSQL at ${urlWithoutCredentials(databaseUrl)}`
  const pages = { api: `${base}/v1`, console: `${base}/console`, docs: `${base}/docs` }
  return { environment, ...pages, data, operatorKey: newOperatorKey }
}

function startMessage(config: Config, service: Service, areRequestsHidden: boolean): string {
  const { api, console, docs, data, operatorKey } = addresses(config, service)
  return `Petstore is up (${config.environment}).

  API       ${api}
  Console   ${console}
  Docs      ${docs}
  Data      ${data}

${operatorKey === undefined ? lostKeyHint(config) : firstSteps(api, operatorKey, config, service.port)}${areRequestsHidden ? hiddenRequests : ''}Stop it with Ctrl-C.`
}

const hiddenRequests = `Requests are not shown until the next start, so that the key stays in sight.

`

const firstSteps = (
  api: string,
  operatorKey: string,
  { dataDir }: Config,
  port: number,
) => `This is the operator key. Save it now: it is shown only once.

  ${operatorKey}

Try it:

  curl -H "Authorization: Bearer ${operatorKey}" ${api}/pets

For the examples in the guides, run this in another terminal:

  export PETSTORE=${api}
  export PETSTORE_KEY=${operatorKey}
${port === defaultPort ? '' : `  export PORT=${port}\n`}${dataDir === resolve('data') ? '' : `  export PETSTORE_DATA_DIR="${dataDir}"\n`}
`

/** The petstore command, as the operator can type it. In a checkout there is none, and npm runs it. */
const petstore = process.env.npm_lifecycle_event === 'start' ? 'npm run -s petstore --' : 'petstore'

const lostKeyHint = ({ adminKey }: Config) =>
  adminKey === undefined
    ? `Lost your key? "${petstore} keys list" shows its id, and "${petstore} keys rotate ID" prints a new secret.

`
    : ''

function addressError(error: unknown, { host, port }: Config): unknown {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE')
    return new Error(`Port ${port} on ${host} is in use. Stop the program that uses it, or set PORT.`)
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
    return new Error(
      `Cannot listen on ${host} port ${port}. Set HOST and PORT to an address that is available.`,
    )
  return error
}
