import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../clock.ts'
import { type Config, readConfig } from '../config.ts'
import { DiskUnresponsiveError } from '../database/database.ts'
import { redactedUrl } from '../database/open.ts'
import { type Service, startService } from '../service.ts'
import { createLog, type Log } from '../telemetry/log.ts'
import { readArguments } from './arguments.ts'

const usage = `petstore serve

Starts the service. PORT, HOST and the other settings come from the environment: see docs/guides/running.md.`

/** A terminal's interrupt reaches us twice, from the terminal and through npm; together they are one. */
const sameSignalMs = 100
/** Longer than clients have to take their responses, so only a thread that waits for the disk can exceed it. */
const stopMaxMs = 15_000

export async function run(args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  readArguments(args, usage, {})
  const config = readConfig(env)
  const { log, close, abandon } = createLog(config.logLevel)
  // As the first process of a container we would not hear a signal that nobody listens for.
  const onEarlySignal = () => {
    abandon()
    process.exit(1)
  }
  process.on('SIGTERM', onEarlySignal)
  process.on('SIGINT', onEarlySignal)
  const service = await startService({ config, clock: systemClock, log }).catch((error: unknown) => {
    throw addressError(error, config)
  })
  let stoppingSince: number | undefined
  const end = async () => {
    stoppingSince = performance.now()
    const isStuck = await stopWithin(stopMaxMs, service, log)
    await close()
    // A thread that waits for the disk would keep the process from exiting by itself.
    if (isStuck) process.kill(process.pid, 'SIGKILL')
    process.exit()
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince < sameSignalMs) return
      abandon()
      process.exit(1)
    }
    log.info({ signal }, 'stopping')
    void end()
  }
  // Added before the early ones are removed: a signal that arrives while there is no handler at all is lost.
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.off('SIGTERM', onEarlySignal)
  process.off('SIGINT', onEarlySignal)
  void service.failed.then(() => {
    process.exitCode = 1
    if (stoppingSince === undefined) void end()
  })
  // Last: whoever reads the greeting may stop us at once, and cleanly.
  log.info({ port: service.port, environment: config.environment }, 'started')
  console.log(greeting(config, service))
}

/** Returns whether something is left that cannot be ended. */
async function stopWithin(ms: number, service: Service, log: Log): Promise<boolean> {
  const tooLate = pause(ms).then(() => {
    throw new DiskUnresponsiveError(`The service did not stop within ${ms} ms.`)
  })
  try {
    await Promise.race([service.stop(), tooLate])
    log.info('stopped')
    return false
  } catch (error) {
    log.error({ err: error }, 'stopping failed')
    process.exitCode = 1
    return error instanceof DiskUnresponsiveError
  }
}

function greeting(config: Config, { port, newOperatorKey }: Service): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host
  const shownHost = ['0.0.0.0', '[::]'].includes(host) ? 'localhost' : host
  const base = `http://${shownHost}:${port}`
  const lines = [
    `Petstore is up (${config.environment}).`,
    '',
    `  API       ${base}/v1`,
    `  Console   ${base}/`,
    `  Docs      ${base}/docs`,
    `  Data      ${config.databaseUrl === undefined ? config.dataDir : `PostgreSQL at ${redactedUrl(config.databaseUrl)}`}`,
    '',
  ]
  if (newOperatorKey === undefined) return [...lines, 'Stop it with Ctrl-C.'].join('\n')
  return [
    ...lines,
    'This is the operator key. It is shown this once and kept nowhere: save it now.',
    '',
    `  ${newOperatorKey}`,
    '',
    'Try it:',
    '',
    `  curl -H "Authorization: Bearer ${newOperatorKey}" ${base}/v1/pets`,
    '',
    'Stop it with Ctrl-C.',
  ].join('\n')
}

function addressError(error: unknown, { host, port }: Config): unknown {
  const code = (error as NodeJS.ErrnoException).code
  if (code === 'EADDRINUSE')
    return new Error(`Port ${port} on ${host} is in use: stop what uses it, or set PORT.`)
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
    return new Error(`Cannot listen on ${host} port ${port}: set HOST and PORT.`)
  return error
}
