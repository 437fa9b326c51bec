import type { Command } from 'commander'
import { examplesOf, fullName } from './define.ts'
import { exitCodes } from './program.ts'

const introduction = `# Commands

This page is generated from the commands. \`petstore help COMMAND\` and \`petstore COMMAND --help\` show the same text. In a checkout, run \`npm run -s petstore -- COMMAND\`; after an installation, \`petstore COMMAND\`.

- Results are written to standard output, and errors, warnings and progress to standard error.
- With \`--json\`, the result is one line of JSON, or one line for each entry of a list.
- Progress is shown only if standard error is a terminal. Colours are used only on a terminal. \`NO_COLOR=1\` turns them off, and \`FORCE_COLOR=1\` turns them on.
- Settings come from the environment: see [Running](running.md).
- Only \`serve\`, \`migrate\`, \`seed\`, \`import\` and \`restore\` create a database, and they say so.

## Exit codes

| Code | Meaning |
| --- | --- |
${exitCodes.map(([code, meaning]) => `| ${code} | ${meaning.replaceAll('|', '\\|')} |`).join('\n')}
`

/** The guide to all commands, in Markdown. */
export function commandReference(program: Command): string {
  const sections = program.commands.flatMap((command) => sectionsOf(command, '##'))
  return [introduction, ...sections].join('\n')
}

function sectionsOf(command: Command, heading: string): string[] {
  const usage = `${fullName(command)} ${command.usage()}`
  const rows = [
    ...command.registeredArguments.map((each) => [
      `\`${each.name()}\``,
      withChoices(each.description, each.argChoices),
    ]),
    ...command.options.map((each) => [`\`${each.flags}\``, each.description]),
  ]
  const table = [
    '| Argument or option | Meaning |',
    '| --- | --- |',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ]
  const examples = examplesOf(command).map(([line, explanation]) => `# ${explanation}\n${line}`)
  const section = [
    `${heading} ${fullName(command)}`,
    `\`\`\`text\n${usage}\n\`\`\``,
    markCode(command.description()),
    ...(rows.length > 0 ? [markCode(table.join('\n'))] : []),
    `\`\`\`text\n${examples.join('\n\n')}\n\`\`\``,
  ]
  return [`${section.join('\n\n')}\n`, ...command.commands.flatMap((each) => sectionsOf(each, `${heading}#`))]
}

const withChoices = (description: string, choices: readonly string[] | undefined): string =>
  choices ? `${description}: ${choices.join(', ')}` : description

/** Records of JSON are code. */
const markCode = (text: string): string => text.replaceAll(/(?<!`)\{"[^}]*\}(?!`)/g, '`$&`')
