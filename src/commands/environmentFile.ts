// The syntax of an environment file of systemd. A value consists of quoted parts, and then of the rest of the line.
const blank = String.raw`[^\S\n]`
/** Also the end of a line: the value or the comment continues on the next one. */
const escaped = String.raw`\\.`
/** A quotation mark that is not closed lasts until here. */
const endOfFile = '(?!.)'
const singleQuoted = `'[^']*(?:'|${endOfFile})`
const doubleQuoted = String.raw`"(?:${escaped}|[^"\\])*(?:"|${endOfFile})`
const unquoted = String.raw`(?:${escaped}|[^\s'"\\])(?:${escaped}|[^\\\n])*`
const value = `(?:${singleQuoted}|${doubleQuoted}|${blank}+)*(?:${unquoted})?`
const comment = String.raw`[#;](?:${escaped}|[^\\\n])*`
const entries = new RegExp(String.raw`^${blank}*(?:${comment}|(\S[^=\n]*)=(${value}))`, 'gms')
/** The parts of a value, without their quotation marks. */
const parts = new RegExp(String.raw`'([^']*)'?|"((?:${escaped}|[^"\\])*)"?|${blank}+|(${unquoted})`, 'gs')

/** Reads an environment file as systemd does (`EnvironmentFile=` in systemd.exec). A shell would read it differently. */
export function parseEnvironmentFile(text: string): Map<string, string> {
  const variables = new Map<string, string>()
  for (const [, name = '', value = ''] of text.matchAll(entries))
    if (/^[A-Za-z_]\w*\s*$/.test(name)) variables.set(name.trim(), parseValue(value))
  return variables
}

const parseValue = (text: string): string =>
  text.replaceAll(
    parts,
    (_, single?: string, double?: string, plain?: string) =>
      single ?? (double === undefined ? parsePlain(plain ?? '') : parseDouble(double)),
  )

/** In double quotes, a backslash before any other character than these is text. */
const parseDouble = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (both, next: string) =>
    next === '\n' ? '' : '"\\`$'.includes(next) ? next : both,
  )

/** Without quotes, white space at the end is not part of the value. */
const parsePlain = (text: string): string =>
  text.replaceAll(/\\(.)|\s+$/gs, (_, next: string = '') => (next === '\n' ? '' : next))
