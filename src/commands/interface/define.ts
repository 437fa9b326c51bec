import { type Command, type CommanderError, Option } from 'commander'
import { UsageError } from '../cli.ts'
import { useInstalledService } from '../installedService.ts'

/** What a command gets: its parsed options and arguments. */
export type Call<O = object> = {
  readonly env: NodeJS.ProcessEnv
  readonly options: O & { readonly json?: boolean }
  readonly args: readonly string[]
  /** All commands, for those that describe them. */
  readonly program: Command
}

export type Example = readonly [commandLine: string, explanation: string]

type Definition = {
  /** Paragraphs, separated by blank lines. */
  readonly description: string
  readonly examples: readonly Example[]
  /** The module is loaded on demand, so that help and short commands start quickly. */
  // biome-ignore lint/suspicious/noExplicitAny: each command knows the type of its options.
  load?(): Promise<{ run(call: Call<any>): Promise<void> | void }>
  /** It needs no database, and its output is not secret: files get the usual mode. */
  readonly isPublic?: boolean
}

const examplesByCommand = new WeakMap<Command, readonly Example[]>()

export const examplesOf = (command: Command): readonly Example[] => examplesByCommand.get(command) ?? []

/** Adds a command. The summary is for the list of commands. Arguments and options are added to the result. */
export function define(
  parent: Command,
  name: string,
  summary: string,
  { description, examples, load, isPublic = false }: Definition,
): Command {
  const command = parent.command(name).summary(summary).description(description)
  addHelpAndErrors(command, examples)
  if (load) {
    command.action(async () => {
      if (!isPublic) {
        // Databases, backups and temporary files must be readable only by the user.
        process.umask(0o077)
        useInstalledService(process.env)
      }
      const { run } = await load()
      await run({ env: process.env, options: command.opts(), args: command.args, program: rootOf(command) })
    })
  }
  return command
}

/** Adds examples to the help, and makes errors of the command line a `UsageError`. */
export function addHelpAndErrors(command: Command, examples: readonly Example[]): void {
  examplesByCommand.set(command, examples)
  const text = examples.map(([line, explanation]) => `  ${line}\n      ${explanation}`).join('\n')
  command
    .addHelpText('after', () => `\n${command.createHelp().styleTitle('Examples:')}\n${text}`)
    .helpOption('-h, --help', 'show this help')
    .allowExcessArguments(false)
    .helpCommand(false)
    .exitOverride((error) => {
      if (error.exitCode === 0) throw error
      throw new UsageError(describe(command, error))
    })
}

/** The parser's message in the form of all others. */
function describe(command: Command, { code, message }: CommanderError): string {
  const name = fullName(command)
  // The parser has printed the help, because there is no command.
  if (code === 'commander.help')
    return `\nChoose a command: ${command.commands.map((each) => each.name()).join(', ')}.`
  const [problem = '', hint] = message.replace(/^error: /, '').split('\n')
  const excess = command.args[command.registeredArguments.length]
  const sentence =
    code === 'commander.excessArguments'
      ? `Unexpected argument "${excess}".`
      : `${problem.slice(0, 1).toUpperCase()}${problem.slice(1).replace(/\.$/, '')}.`
  const suggestion = hint?.replace(/^\((.*)\)$/, ' $1') ?? ''
  return `${sentence.replaceAll("'", '"')}${suggestion}\nRun "${name} --help" for its usage.`
}

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command)

/** Such as "petstore keys create". */
export const fullName = (command: Command): string =>
  command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name()

export const jsonOption = (description = 'print the result as one line of JSON') =>
  new Option('--json', description)

/** An option that can be given several times. */
export const repeatable = (flags: string, description: string): Option =>
  new Option(flags, `${description}; can be repeated`).argParser((value, previous: string[] | undefined) => [
    ...(previous ?? []),
    value,
  ])
