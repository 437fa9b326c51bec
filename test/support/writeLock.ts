import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'

const holder = `
  const { DatabaseSync } = require('node:sqlite')
  const connection = new DatabaseSync(process.argv[1], { timeout: 5000 })
  connection.exec('BEGIN IMMEDIATE')
  console.log('held')
  process.stdin.on('end', () => connection.close()).resume()
`

/** Another process that holds the write lock of a database until it is released or the test is over. */
export async function holdWriteLock(
  t: Pick<TestContext, 'after'>,
  file: string,
): Promise<{ release(): Promise<void> }> {
  const child = spawn(process.execPath, ['-e', holder, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const [said] = await Promise.race([once(child.stdout, 'data'), ended])
  if (String(said).trim() !== 'held') throw new Error('The lock could not be acquired.')
  const release = async () => {
    child.stdin.end()
    await ended
  }
  t.after(release)
  return { release }
}
