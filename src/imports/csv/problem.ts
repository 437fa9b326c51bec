import { ApiError } from '../../api/errors.ts'
import { JsonError } from '../../api/json.ts'

/** A line that cannot be imported. */
export type Problem = { readonly line: number; readonly reason: string }

/** The file is wrong as a whole: no line can be imported. */
export class FileError extends Error {}

/** A line is wrong. Any other error stops the import, even with --skip-bad. */
export class LineError extends Error {}

/** What is wrong with a line. Rethrows all other errors. */
export function problemOf(error: unknown): string {
  if (error instanceof LineError) return error.message
  // The parser counts lines within the text, which is always one line.
  if (error instanceof JsonError) return error.message.replace(/^line 1, /, '')
  if (error instanceof ApiError && error.details)
    return error.details.map(({ path, message }) => `${path.slice(1)} ${message}`).join('; ')
  throw error
}
