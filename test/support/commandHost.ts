/**
 * Runs commands in a process that stays, so that the modules load once and not once per command.
 * The parent sends one command at a time and gets the exit code and the output. See commandHosts.ts.
 */
import { Readable } from 'node:stream'
import type { CommandRequest, CommandResult } from './commandHosts.ts'

/** The URL of the program's main module. */
const main = process.argv[2]
const initialMask = process.umask()
const exit = process.exit.bind(process)
let count = 0

process.on('message', async (request: CommandRequest) => {
  process.send?.(await runCommand(request))
})
process.on('disconnect', () => exit())

async function runCommand({ args, env, input }: CommandRequest): Promise<CommandResult> {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
  let exitCode: number | undefined
  const capture = (stream: 'stdout' | 'stderr') => {
    process[stream].write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
      if (exitCode === undefined) output[stream].push(Buffer.from(chunk as string))
      const done = rest.at(-1)
      if (typeof done === 'function') done()
      return true
    }) as typeof process.stdout.write
  }
  capture('stdout')
  capture('stderr')
  // The command continues after this call until the error reaches its caller; its output is no longer recorded.
  process.exit = (code) => {
    exitCode ??= Number(code ?? 0)
    throw new Error('process.exit')
  }
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true })
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.argv = [process.execPath, 'petstore', ...args]
  process.exitCode = undefined
  process.umask(initialMask)
  // The query makes it a new module, which runs again; what it imports is already loaded.
  await import(`${main}?run=${count++}`)
  const code = exitCode ?? Number(process.exitCode ?? 0)
  process.exitCode = undefined
  return {
    code,
    stdout: Buffer.concat(output.stdout).toString(),
    stderr: Buffer.concat(output.stderr).toString(),
  }
}
