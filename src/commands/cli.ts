import { fstatSync, writeSync } from 'node:fs'
import { withoutControls } from '../controlCharacters.ts'

/** The command line is wrong. */
export class UsageError extends Error {
  readonly exitCode = 2
}

export function parseInteger(option: string, text: string | undefined, min: number, max: number) {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text)
  throw new UsageError(`--${option} must be a whole number from ${min} to ${max}, but is "${text}".`)
}

/** Prints a sentence for people, or with `--json` one line of JSON for scripts. */
export function printResult(isJson: boolean | undefined, result: object, sentence: string): void {
  writeOutput(`${isJson ? JSON.stringify(result) : sentence}\n`)
}

/** A number and its noun: `1 animal`, `2 animals`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`

/** The message of an error, with that of its cause if it does not contain it. It may have texts of a file. */
export const describeError = (error: unknown): string =>
  messageOf(error).split('\n').map(withoutControls).join('\n')

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  if (!(cause instanceof Error) || message.includes(cause.message)) return message
  return `${message.replace(/\.$/, '')} (${cause.message}).`
}

const outputFd = 1
let isFile: boolean | undefined

/**
 * Writes to standard output. Returns false if the caller has to wait for `drain`. A stream does not notice that a full
 * disk takes only a part of a text, so a file is written without it.
 */
export function writeOutput(text: string): boolean {
  isFile ??= fstatSync(outputFd).isFile()
  if (!isFile) return process.stdout.write(text)
  const bytes = Buffer.from(text)
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(outputFd, bytes, written)
  } catch (cause) {
    throw new Error(`The output cannot be written (${(cause as Error).message}).`, { cause })
  }
  return true
}
