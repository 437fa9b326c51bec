import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** The command line is wrong: exit status 2. */
export class UsageError extends Error {}

/** Parses options and at most `positionalsMax` positionals. `--help` prints the usage and exits. */
export function parseArguments<O extends ParseArgsOptionsConfig>(
  args: string[],
  usage: string,
  options: O,
  positionalsMax = 0,
) {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(usage)
    process.exit(0)
  }
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true, strict: true })
    if (positionals.length > positionalsMax)
      throw new Error(`Unexpected argument "${positionals[positionalsMax]}".`)
    return { values, positionals }
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`)
  }
}

export function parseInteger(
  option: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw new UsageError(`--${option} must be a whole number from ${min} to ${max}, but is "${text}".`)
}

/** Prints a sentence for people, or with `--json` one line of JSON for scripts. */
export function printResult(isJson: boolean | undefined, result: object, sentence: string): void {
  console.log(isJson ? JSON.stringify(result) : sentence)
}
