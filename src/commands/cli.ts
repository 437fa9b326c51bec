/** The command line is wrong: exit code 2. */
export class UsageError extends Error {}

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
