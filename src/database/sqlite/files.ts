import { chmodSync, closeSync, fsyncSync, openSync, statSync } from 'node:fs'

/** A store holds names of customers and hashes of keys: only the owner of its files may read them. */
const privateMode = 0o600
const othersMask = 0o077

/** SQLite gives the files beside a database the mode of the database, but only when it creates them. */
const suffixes = ['', '-wal', '-shm', '-journal']

/**
 * Makes sure that a database is readable by its owner alone: a new one from its first byte, and an existing one, with
 * the files beside it, from now on. An existing file is not opened: closing it would release the locks that SQLite holds
 * on it in this process.
 */
export function makePrivate(database: string): void {
  createPrivate(database)
  repairModes(database)
}

/** The same for a database that may not be there, and is not to be created. */
export function repairModes(database: string): void {
  for (const suffix of suffixes) repairMode(`${database}${suffix}`)
}

function createPrivate(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })) return
  try {
    closeSync(openSync(file, 'wx', privateMode))
  } catch (error) {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Best effort: the file of another user, or one on a read-only file system, can still be used as it is. */
function repairMode(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode
  if (mode === undefined || (mode & othersMask) === 0) return
  try {
    chmodSync(file, mode & ~othersMask & 0o777)
  } catch {
    // Not ours to change, or gone by now.
  }
}

/** Makes the contents of a file survive a loss of power. */
export function syncFile(file: string): void {
  const descriptor = openSync(file, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** The same for the names in a folder, without which a new file may be gone. Some network file systems cannot do this. */
export function syncFolder(folder: string): void {
  try {
    syncFile(folder)
  } catch (error) {
    if (!isSyncUnsupported(error)) throw error
  }
}

/** Whether an error of syncing a folder means that its file system cannot do that. */
export const isSyncUnsupported = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')
