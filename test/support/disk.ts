import { execFileSync } from 'node:child_process'
import fs, { readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * A disk whose syncs succeed, fail or hang. It replaces `fdatasync`, so it has to be loaded before the service: in a
 * test by importing the service afterwards, in a separate process by `--import`.
 */
type DiskMode = 'ok' | 'fail' | 'hang'

const fdatasync = fs.fdatasync
const waiting: ((mode: 'ok' | 'fail') => void)[] = []
let mode: DiskMode = 'ok'
let running = 0

/** Names the file with the mode. The pipe next to it blocks the thread that opens it. */
const controlVariable = 'TEST_DISK_MODE_FILE'
const control = process.env[controlVariable]

fs.fdatasync = ((file: number, done: fs.NoParamCallback) => {
  running++
  const synced: fs.NoParamCallback = (error) => {
    running--
    done(error)
  }
  const current = control === undefined ? mode : (readFileSync(control, 'utf8') as DiskMode)
  if (current === 'ok') fdatasync(file, synced)
  else if (current === 'fail') synced(failure())
  else if (control === undefined)
    waiting.push((next) => (next === 'ok' ? fdatasync(file, synced) : synced(failure())))
  else fs.open(pipeBeside(control), 'r', () => fdatasync(file, synced))
}) as typeof fs.fdatasync
syncBuiltinESMExports()

const failure = () => Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })
const pipeBeside = (file: string) => `${file}.pipe`

/** The disk of this process. Syncs that hang end with the next mode. */
export const disk = {
  set(next: DiskMode): void {
    mode = next
    if (next !== 'hang') for (const end of waiting.splice(0)) end(next)
  },
  /** Whether a sync waits for the disk. */
  get isBusy(): boolean {
    return waiting.length > 0
  },
  /** Whether no sync is running. */
  get isIdle(): boolean {
    return running === 0
  },
}

/** A disk for a server in a separate process. */
export function diskIn(folder: string) {
  const file = join(folder, 'disk')
  writeFileSync(file, 'ok')
  execFileSync('mkfifo', [pipeBeside(file)])
  return {
    env: { [controlVariable]: file },
    nodeOptions: ['--import', fileURLToPath(import.meta.url)],
    set: (next: DiskMode) => writeFileSync(file, next),
  }
}
