import { closeSync, fsyncSync, openSync, readdirSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { nearestExisting } from '../../database/sqlite/files.ts'
import { adviceFor, findWriteProblem } from '../../database/sqlite/unwritable.ts'
import { type Finding, findingsOf } from './finding.ts'

const mebibyte = 1024 * 1024
const freeBytesMin = 100 * mebibyte
const freeBytesLow = 1024 * mebibyte
const syncMsMax = 100
const syncRounds = 5
const othersMask = 0o077

const folder = findingsOf('folder')
const disk = findingsOf('disk')
const space = findingsOf('space')
const permissions = findingsOf('permissions')

/** The folder of the SQLite database: free space, speed of a sync, owner and modes. */
export function checkDisk(dataDir: string): Finding[] {
  const existing = nearestExisting(dataDir)
  if (!statSync(existing).isDirectory())
    return [folder.problem(`${existing} is not a folder.`, 'Set PETSTORE_DATA_DIR.')]
  const freeSpace = checkSpace(existing)
  const unwritable = findWriteProblem(existing)
  if (unwritable) {
    const advice = adviceFor(unwritable, 'set PETSTORE_DATA_DIR')
    const sentence = `${advice.slice(0, 1).toUpperCase()}${advice.slice(1)}.`
    return [disk.problem(`${existing} cannot be written, because ${unwritable.reason}.`, sentence), freeSpace]
  }
  if (existing === dataDir) return [checkSync(dataDir), freeSpace, checkPermissions(dataDir)]
  const missing = `${dataDir} does not exist yet.`
  return [folder.warning(missing, 'Start the service, or set PETSTORE_DATA_DIR.'), freeSpace]
}

function checkSync(dataDir: string): Finding {
  const file = join(dataDir, `doctor-${process.pid}`)
  try {
    const descriptor = openSync(file, 'wx', 0o600)
    const times: number[] = []
    try {
      for (let round = 0; round < syncRounds; round++) {
        writeSync(descriptor, Buffer.alloc(4096))
        const startedAt = performance.now()
        fsyncSync(descriptor)
        times.push(performance.now() - startedAt)
      }
    } finally {
      closeSync(descriptor)
    }
    const median = times.sort((a, b) => a - b)[Math.floor(syncRounds / 2)] ?? 0
    const message = `A sync of ${dataDir} takes ${median.toFixed(1)} ms.`
    return median <= syncMsMax
      ? disk.ok(message)
      : disk.warning(message, 'Every change waits for a sync. Use a faster disk, not a network folder.')
  } catch (error) {
    const { message } = error as Error
    return disk.problem(`${dataDir} cannot be written (${message}).`, 'Check the disk.')
  } finally {
    rmSync(file, { force: true })
  }
}

function checkSpace(existing: string): Finding {
  const { bavail, bsize } = statfsSync(existing)
  const free = bavail * bsize
  const message = `${Math.floor(free / mebibyte)} MiB are free.`
  if (free < freeBytesMin)
    return space.problem(message, 'Free space on the disk: changes fail when it is full.')
  return free < freeBytesLow ? space.warning(message, 'Free space on the disk soon.') : space.ok(message)
}

function checkPermissions(dataDir: string): Finding {
  const files = readdirSync(dataDir)
    .filter((name) => name.startsWith('petstore.db'))
    .map((name) => join(dataDir, name))
  const uid = process.geteuid?.()
  const foreign = uid === 0 ? [] : files.filter((file) => uid !== undefined && statSync(file).uid !== uid)
  if (foreign.length > 0)
    return permissions.problem(
      `Another user owns ${foreign.join(', ')}.`,
      'Run the command as the user of the service, or give it the files (chown).',
    )
  const readable = files.filter((file) => (statSync(file).mode & othersMask) !== 0)
  if (readable.length > 0)
    return permissions.warning(
      `Other users can read ${readable.join(', ')}.`,
      `Run: chmod 600 ${readable.join(' ')}`,
    )
  return permissions.ok('Only the owner can read the files of the database.')
}
