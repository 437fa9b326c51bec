import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { mainFile } from './mainFile.ts'

export type CommandRequest = {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly input: string
}
export type CommandResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

const script = fileURLToPath(new URL('./commandHost.ts', import.meta.url))
const main = pathToFileURL(mainFile).href
const root = fileURLToPath(new URL('../../', import.meta.url))
const idle: ChildProcess[] = []

/**
 * Runs a command in a process that outlives it and takes the next command. Commands at the same time have a process
 * each, as commands of users do.
 */
export async function runInHost(request: CommandRequest): Promise<CommandResult> {
  const host = idle.pop() ?? startHost(request.env)
  host.ref()
  host.channel?.ref()
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>()
  const onExit = () => reject(new Error(`The process ended during the command "${request.args.join(' ')}".`))
  host.once('exit', onExit)
  host.once('message', (result) => resolve(result as CommandResult))
  host.send(request)
  const result = await promise
  host.off('exit', onExit)
  host.channel?.unref()
  host.unref()
  idle.push(host)
  return result
}

/** It ends when this process ends: its channel closes then. */
function startHost(env: NodeJS.ProcessEnv): ChildProcess {
  return fork(script, [main], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
  })
}
