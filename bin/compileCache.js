// Plain JavaScript: it runs before the compile cache is enabled.
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'

const writableByOthers = 0o022
const accessibleToOthers = 0o077
const sticky = 0o1000

/**
 * The folder of the compile cache: $XDG_CACHE_HOME/petstore or ~/.cache/petstore. Its contents are executed, so it is used
 * only if no other user can write to it. Otherwise the result is undefined and nothing is cached.
 *
 * @param {Record<string, string | undefined>} env
 * @param {number | undefined} uid
 * @returns {string | undefined}
 */
export function compileCacheFolder(env, uid) {
  const { XDG_CACHE_HOME = '', HOME = '' } = env
  const parent = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : isAbsolute(HOME) && join(HOME, '.cache')
  // On systems without user ids, such as Windows, the owner cannot be checked.
  if (!parent || uid === undefined) return undefined
  try {
    for (const folder of [parent, join(parent, 'petstore')]) makePrivate(folder)
    const folder = join(realpathSync(parent), 'petstore')
    return isPrivate(folder, uid) && isSafe(dirname(folder), uid) ? folder : undefined
  } catch {
    return undefined // For example, the home folder does not exist or the file system is read-only.
  }
}

function makePrivate(folder) {
  if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
}

/** Whether it is a folder, not a symbolic link, that only this user can access. */
function isPrivate(folder, uid) {
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === uid && (stat.mode & accessibleToOthers) === 0
}

/** Whether no other user except root can rename or replace entries of this folder. */
function isSafe(folder, uid) {
  const { uid: owner, mode } = lstatSync(folder)
  if (owner !== uid && owner !== 0) return false
  if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0) return false
  return folder === dirname(folder) || isSafe(dirname(folder), uid)
}
