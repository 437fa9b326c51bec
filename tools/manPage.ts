/** The manual page petstore(1), made from the commands as docs/guides/commands.md is. */
import type { Command } from 'commander'
import type { InstalledService } from '../src/commands/installedService.ts'
import { examplesOf, fullName } from '../src/commands/interface/define.ts'
import { exitCodes } from '../src/commands/interface/program.ts'

export type ManualPage = {
  readonly program: Command
  readonly version: string
  /** Such as 2026-11-17. */
  readonly date: string
  readonly service: InstalledService
}

/** Characters that roff shows as others, such as "-" as a hyphen, so that commands can be copied. */
const glyphs: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  '~': '\\(ti',
  '^': '\\(ha',
  "'": '\\(aq',
  '`': '\\(ga',
}
/** A line that begins with "." would be a request. */
const toRoff = (text: string): string =>
  text.replaceAll(/[\\~^'`-]/g, (character) => glyphs[character] ?? character).replaceAll(/^\./gm, '\\&.')
const bold = (text: string): string => `\\fB${toRoff(text)}\\fR`
const quoted = (text: string): string => `"${toRoff(text).replaceAll('"', '\\(dq')}"`

/** The text after a heading. */
const paragraphs = (text: string): string => `${text.split('\n\n').map(toRoff).join('\n.PP\n')}\n`
const item = (term: string, meaning: string): string => `.TP\n${bold(term)}\n${toRoff(meaning)}\n`

function commandSections(command: Command): string {
  const values = command.registeredArguments.map((argument) => {
    const choices = argument.argChoices ? `: ${argument.argChoices.join(', ')}` : ''
    return item(argument.name(), `${argument.description}${choices}`)
  })
  const options = command.options.map(({ flags, description }) => item(flags, description))
  const examples = examplesOf(command).map(
    ([line, explanation]) => `.PP\n${toRoff(explanation)}\n.RS 4\n.nf\n${toRoff(line)}\n.fi\n.RE\n`,
  )
  const section = [
    `.SS ${quoted(`${fullName(command)} ${command.usage()}`)}\n`,
    paragraphs(command.description()),
    ...values,
    ...options,
    ...examples,
  ]
  return [...section, ...command.commands.map(commandSections)].join('')
}

/** Roff for the macros of man(7). */
export function manualPage({ program, version, date, service }: ManualPage): string {
  const { settingsFile, dataDir, user } = service
  return `.TH PETSTORE 1 "${date}" "Petstore ${version}" "User Commands"
.nh
.SH NAME
petstore \\- HTTP/JSON service for animals offered for adoption
.SH SYNOPSIS
.B petstore
.I command
.RI [ options ]
.SH DESCRIPTION
${paragraphs(program.description())}.PP
${toRoff(
  `The service runs as the user ${user}, with the settings in ${settingsFile}. Run commands as root ("sudo petstore keys list"): they use the same settings and the same user, so they can read and write only what that user may. Environment variables of the caller take precedence. A command with another PETSTORE_DATA_DIR does not use the service's settings, and keeps its user.`,
)}
.SH COMMANDS
${program.commands.map(commandSections).join('')}.SH "EXIT STATUS"
${exitCodes.map(([code, meaning]) => item(String(code), meaning)).join('')}.SH FILES
${item(settingsFile, 'the settings of the service')}${item(dataDir, 'its embedded database')}${item('/usr/share/doc/petstore/guides/', 'the guides: running.md has all settings')}.SH "SEE ALSO"
.BR systemctl (1),
.BR journalctl (1)
`
}
