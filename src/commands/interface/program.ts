import { styleText } from 'node:util'
import { Command } from 'commander'
import { UsageError } from '../cli.ts'
import { addDataCommands } from './dataCommands.ts'
import { addHelpAndErrors, define, fullName } from './define.ts'
import { addKeyCommands } from './keyCommands.ts'
import { addServiceCommands } from './serviceCommands.ts'

const cyan = (text: string): string => styleText('cyan', text, { validateStream: false })

export const exitCodes: readonly (readonly [code: number, meaning: string])[] = [
  [0, 'success'],
  [1, 'the command failed; the reason is on standard error'],
  [2, 'wrong usage or configuration; nothing was done'],
  [3, 'an import left out wrong lines, with --skip-bad, or photos; all others are imported'],
  [130, 'interrupted with Ctrl-C'],
  [141, 'the reader of the output closed it, as "| head" does'],
  [143, 'interrupted with SIGTERM'],
]

const description = `The service and its tools.

Settings come from the environment, such as PORT and PETSTORE_DATA_DIR: see docs/guides/running.md. Results are written to standard output, and errors, warnings and progress to standard error.`

/** All commands. The modules that run them are loaded on demand. */
export function createProgram(version: string): Command {
  const program = new Command('petstore')
  program.description(description).version(version, '-V, --version', 'show the version')
  program.configureOutput({ outputError: () => {} }).configureHelp({
    styleTitle: (text) => styleText('bold', text, { validateStream: false }),
    styleCommandText: cyan,
    styleSubcommandText: cyan,
    styleOptionText: cyan,
    styleArgumentText: cyan,
    subcommandTerm: (command) => command.name(),
  })
  addHelpAndErrors(program, [
    ['petstore serve', 'Start the service.'],
    ['petstore help import', 'Show the help of a command, here of "import".'],
  ])
  program.addHelpText(
    'after',
    `\nExit codes:\n${exitCodes.map(([code, meaning]) => `  ${String(code).padEnd(4)} ${meaning}`).join('\n')}`,
  )
  addServiceCommands(program)
  addKeyCommands(program)
  addDataCommands(program)
  addHelpCommand(program)
  return program
}

function addHelpCommand(program: Command): void {
  const help = define(program, 'help', 'show the help of a command', {
    description: 'Shows the help of a command, as --help after the command does.',
    examples: [['petstore help keys create', 'Show the options of "petstore keys create".']],
  })
  help.argument('[command...]', 'the command, such as: keys create')
  help.action((names: readonly string[]) => {
    let command = program
    for (const name of names) {
      const next = command.commands.find((candidate) => candidate.name() === name)
      if (!next) throw new UsageError(`There is no command "${fullName(command)} ${name}".`)
      command = next
    }
    command.outputHelp()
  })
}
