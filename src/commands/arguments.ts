import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** The command was called the wrong way: exit status 2. */
export class UsageError extends Error {}

/** Reads options and exactly the named positionals; `--help` prints the usage and ends. */
export function parseArguments<O extends ParseArgsOptionsConfig>(
  args: string[],
  usage: string,
  options: O,
  names: string[] = [],
) {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true })
    if (positionals.length > names.length)
      throw new Error(`Unexpected argument "${positionals[names.length]}".`)
    return { values, positionals }
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`)
  }
}

export function parseWholeNumber(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw new UsageError(`--${name} must be a whole number from ${min} to ${max}, but is "${text}".`)
}
