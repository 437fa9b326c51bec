import { accessSync, constants, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isFull } from './driver.ts'
import { nearestExisting } from './files.ts'

/** Why something cannot be written, and what to do. */
type WriteProblem = { readonly reason: string; readonly remedy?: string }

const noPermission = (path: string): WriteProblem => ({
  reason: 'this user has no permission',
  remedy: `run petstore as the owner of ${path} or change the owner`,
})

/** By the code of the operating system. */
const explanations: Readonly<Record<string, (path: string) => WriteProblem>> = {
  EROFS: () => ({ reason: 'its file system is read-only', remedy: 'mount it for writing' }),
  EACCES: noPermission,
  EPERM: noPermission,
  ENOSPC: () => ({ reason: 'its disk has no space left', remedy: 'free some space' }),
  EDQUOT: () => ({ reason: 'the disk quota of this user is used up', remedy: 'free some space' }),
  // As /proc reports it.
  ENOENT: () => ({ reason: 'its file system allows no new files' }),
}

/** Enough for the files that SQLite creates when it opens a database. */
const probeBytes = 64 * 1024
/** What a server and commands write. */
const databaseFiles = /^(?:petstore\.db|server\.lock)/

/** What to do instead, if the data folder cannot be written. */
export const otherDataFolder = 'set PETSTORE_DATA_DIR to another folder'

/** A folder cannot be written. The message says why, and what to do. */
export class UnwritableError extends Error {}

/**
 * Returns the error to throw: an `UnwritableError` if the folder cannot be written, otherwise the given error. The
 * alternative follows "or", such as "choose another folder".
 */
export function explainUnwritable(error: unknown, folder: string, alternative: string): unknown {
  const causes = systemErrorsIn(error)
  if (causes.length === 0) return error
  // Not checked again: what filled the disk may have been removed.
  const isDiskFull = causes.some((cause) => isFull(cause) || cause.code === 'ENOSPC')
  const problem = isDiskFull ? explanations.ENOSPC?.(folder) : findWriteProblem(folder)
  if (!problem) return error
  const advice = adviceFor(problem, alternative)
  return new UnwritableError(`The folder ${folder} cannot be written, because ${problem.reason}: ${advice}.`)
}

/** The same for the folder of a file. */
export const explainUnwritableFile = (error: unknown, file: string): unknown =>
  explainUnwritable(error, dirname(resolve(file)), 'choose another folder')

/** What to do: one of two things, or the alternative alone. */
export const adviceFor = ({ remedy }: WriteProblem, alternative: string): string =>
  remedy === undefined ? alternative : `${remedy}, or ${alternative}`

/** The errors of the operating system and of SQLite among an error and its causes. */
function systemErrorsIn(error: unknown): SystemError[] {
  if (!(error instanceof Error)) return []
  return [...(isSystemError(error) ? [error] : []), ...systemErrorsIn(error.cause)]
}

type SystemError = Error & { code: unknown }

/** Whether the error comes from the operating system or the database. */
export const isSystemError = (error: Error): error is SystemError => 'code' in error

/** Tries to write to the folder, or to the nearest one that exists. Undefined if that succeeds. */
export function findWriteProblem(folder: string): WriteProblem | undefined {
  const existing = nearestExisting(folder)
  if (!statSync(existing).isDirectory())
    return {
      reason: `${existing === folder ? 'it' : existing} is not a folder`,
      remedy: 'move that file away',
    }
  const problem = problemOf(existing, () => writeProbe(existing))
  if (problem) return problem
  if (existing !== folder) return { reason: 'it does not exist', remedy: 'create it' }
  const files = readdirSync(folder).filter((name) => databaseFiles.test(name))
  return files
    .map((name) => join(folder, name))
    .map((file) => problemOf(file, () => accessSync(file, constants.R_OK | constants.W_OK)))
    .find((each) => each !== undefined)
}

function problemOf(path: string, work: () => void): WriteProblem | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return explanations[(error as NodeJS.ErrnoException).code ?? '']?.(path)
  }
}

function writeProbe(folder: string): void {
  const file = join(folder, `.petstore-probe-${process.pid}`)
  try {
    writeFileSync(file, Buffer.alloc(probeBytes), { flag: 'wx', mode: 0o600 })
  } finally {
    rmSync(file, { force: true })
  }
}
