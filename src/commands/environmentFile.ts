/** An entry of an environment file of systemd: a comment, or a name and its value, which can continue on further lines. */
const entries =
  /^[^\S\n]*(?:[#;](?:\\.|[^\\\n])*|(\S[^=\n]*)=((?:'[^']*(?:'|(?!.))|"(?:\\.|[^"\\])*(?:"|(?!.))|[^\S\n]+)*(?:(?:\\.|[^\s'"\\])(?:\\.|[^\\\n])*)?))/gms
/** A part of a value: in single quotes, in double quotes, white space before others, or the rest without quotes. */
const parts = /'([^']*)'?|"((?:\\.|[^"\\])*)"?|[^\S\n]+|([^'"\s].*)/gs

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
      single ?? (double !== undefined ? parseDouble(double) : parsePlain(plain ?? '')),
  )

/** In double quotes, a backslash before any other character than these is text. */
const parseDouble = (text: string): string =>
  text.replaceAll(/\\(.)/gs, (both, next: string) =>
    next === '\n' ? '' : '"\\`$'.includes(next) ? next : both,
  )

/** Without quotes, white space at the end is not part of the value. */
const parsePlain = (text: string): string =>
  text.replaceAll(/\\(.)|\s+$/gs, (_, next: string = '') => (next === '\n' ? '' : next))
