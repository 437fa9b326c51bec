import { styleText } from 'node:util'
import { type Config, ConfigError, readConfig, unknownSettingWarnings } from '../config.ts'
import { printResult } from './cli.ts'
import { checkDatabase } from './doctor/checkDatabase.ts'
import { checkDisk } from './doctor/checkDisk.ts'
import { checkPort } from './doctor/checkPort.ts'
import { type Finding, findingsOf } from './doctor/finding.ts'
import type { Call } from './interface/define.ts'

const { ok, warning, problem } = findingsOf('configuration')

export async function run({ env, options }: Call): Promise<void> {
  const findings = await examine(env)
  const isOk = findings.every(({ status }) => status !== 'problem')
  printResult(options.json, { ok: isOk, findings }, findings.map(format).join('\n'))
  if (!isOk) process.exitCode = 1
}

async function examine(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map((each) => problem(each, 'See docs/guides/running.md.'))
  }
  const { environment, host, port, databaseUrl, dataDir } = config
  return [
    ok(`Node ${process.versions.node}, ${environment}, ${host} port ${port}.`),
    unknownSettingWarnings(env).map((each) => warning(each, 'Remove or rename it.')),
    databaseUrl === undefined ? checkDisk(dataDir) : [],
    await checkDatabase(config),
    await checkPort(config),
  ].flat()
}

const colors = { ok: 'green', warning: 'yellow', problem: 'red' } as const

function format({ check, status, message, advice }: Finding): string {
  const mark = styleText(colors[status], status.padEnd(7), { stream: process.stdout })
  const line = `${mark}  ${check.padEnd(13)}  ${message}`
  return advice === undefined ? line : `${line}\n${' '.repeat(24)}${advice}`
}
