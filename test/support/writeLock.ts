import { spawn } from 'node:child_process'
import { once } from 'node:events'

const holder = `
  const { DatabaseSync } = require('node:sqlite')
  const store = new DatabaseSync(process.argv[1], { timeout: 5000 })
  store.exec('BEGIN IMMEDIATE')
  console.log('held')
  process.stdin.on('end', () => store.close()).resume()
`

/** Another process that has the write lock of a store until it is told to let go. */
export async function holdWriteLock(file: string): Promise<{ release(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', holder, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const [said] = await Promise.race([once(child.stdout, 'data'), ended])
  if (String(said).trim() !== 'held') throw new Error('The lock could not be had.')
  return {
    async release() {
      child.stdin.end()
      await ended
    },
  }
}
