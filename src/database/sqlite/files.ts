import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** The database holds customer names and key hashes, so only the owner may read its files. */
const privateMode = 0o600
const othersMask = 0o077

/** A database has up to four files. SQLite gives the others the mode of the first, but only when it creates them. */
const suffixes = ['', '-wal', '-shm', '-journal']

export const filesOf = (database: string): string[] => suffixes.map((suffix) => `${database}${suffix}`)

/**
 * Creates a database file that only its owner can read, or restricts the modes of an existing one. An existing file is
 * not opened: closing it would release the locks that SQLite holds on it in this process.
 */
export function restrictFileModes(database: string): void {
  createPrivate(database)
  repairModes(database)
}

/**
 * Restricts the modes of an existing database. Best effort: a file of another user, or on a read-only file system, keeps
 * its mode.
 */
export function repairModes(database: string): void {
  for (const file of filesOf(database)) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & othersMask) === 0) continue
    try {
      chmodSync(file, mode & ~othersMask & 0o777)
    } catch {
      // Not permitted, or the file was removed.
    }
  }
}

/**
 * Creates a folder that only its owner can access, and its parents. Not with the option `recursive` of Node, which never
 * returns if the file system reports that an existing parent does not exist, as /proc does.
 */
export function createFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })) return
  if (dirname(folder) !== folder) createFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process created the folder first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Whether something exists. Throws if the folder may not be read, which `existsSync` would report as false. */
export const exists = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined

/** The path itself, or the nearest folder above it that exists. */
export const nearestExisting = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))

/** Whether the name is taken, also by a link to nothing. */
export const isNameTaken = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Creates a file that only its owner can read. Throws if the name is taken, also by a link. */
export const createExclusively = (file: string): void => closeSync(openSync(file, 'wx', privateMode))

/** Creates the file, unless the name is taken. Returns whether it did. */
function createPrivate(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false })) return false
  try {
    createExclusively(file)
    return true
  } catch (error) {
    // Another process created the file first.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

/** Creates the file, unless it exists. Returns whether it did. Throws if the name is a symbolic link. */
export function createPrivateRegularFile(file: string): boolean {
  const isCreated = createPrivate(file)
  if (!lstatSync(file).isFile())
    throw new Error(`${file} is a link, or not a regular file. Remove it, or choose another folder.`)
  return isCreated
}

/**
 * The same for a folder that others can write to. Another user may have created a link with this name, to make this process
 * change one of its own files, or a file, to replace it by such a link later.
 */
export function createInSharedFolder(file: string): boolean {
  const isCreated = createPrivateRegularFile(file)
  const { nlink, uid } = lstatSync(file)
  // Not the owner of a file that was created now, which some network file systems change.
  const isOwn = isCreated || uid === (process.geteuid?.() ?? uid)
  if (nlink > 1 || !isOwn)
    throw new Error(`${file} is a link, or belongs to another user. Remove it, or choose another folder.`)
  return isCreated
}

/** Makes the contents of a file survive a power loss. */
export function syncFile(file: string): void {
  const descriptor = openSync(file, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Makes the names in a folder survive a power loss. Some network file systems do not support this. */
export function syncFolder(folder: string): void {
  try {
    syncFile(folder)
  } catch (error) {
    if (!isSyncUnsupported(error)) throw error
  }
}

/** Whether the file system does not support syncing a folder. */
export const isSyncUnsupported = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP'].includes((error as NodeJS.ErrnoException).code ?? '')
