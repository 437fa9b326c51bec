// Plain JavaScript: it runs before the cache, and so before anything that has to be compiled from TypeScript.
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'

const writableByOthers = 0o022
const accessibleToOthers = 0o077
const sticky = 0o1000

/**
 * The folder for compiled code: $XDG_CACHE_HOME/petstore, or ~/.cache/petstore. Code in it is executed, so the folder is
 * used only if no other user can have written to it; otherwise the result is undefined, and nothing is cached.
 *
 * @param {Record<string, string | undefined>} env
 * @param {number | undefined} uid
 * @returns {string | undefined}
 */
export function compileCacheFolder(env, uid) {
  const { XDG_CACHE_HOME = '', HOME = '' } = env
  const parent = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : isAbsolute(HOME) && join(HOME, '.cache')
  // Without user ids, as on Windows, the owner cannot be checked.
  if (!parent || uid === undefined) return undefined
  try {
    for (const folder of [parent, join(parent, 'petstore')]) makePrivate(folder)
    const folder = join(realpathSync(parent), 'petstore')
    return isPrivate(folder, uid) && isSafe(dirname(folder), uid) ? folder : undefined
  } catch {
    return undefined // For example a home folder that does not exist, or a read-only file system.
  }
}

function makePrivate(folder) {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
}

/** A folder of this user that no other can read or write; a symbolic link is not a folder. */
function isPrivate(folder, uid) {
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === uid && (stat.mode & accessibleToOthers) === 0
}

/** Whether no other user but root can rename or replace what is in this folder. */
function isSafe(folder, uid) {
  const { uid: owner, mode } = lstatSync(folder)
  if (owner !== uid && owner !== 0) return false
  if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0) return false
  return folder === dirname(folder) || isSafe(dirname(folder), uid)
}
