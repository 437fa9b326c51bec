import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cliOnNewDatabase } from '../support/commands.ts'
import { contentsOf } from '../support/engine.ts'
import { preloadOption, runInProcess } from '../support/process.ts'
import { folderFor } from '../support/servers.ts'

/** The process sends itself SIGINT at the given check for one. A command checks before each batch. */
const preload = (check: number) => `
const { throwIfAborted } = AbortSignal.prototype
let checks = 0
AbortSignal.prototype.throwIfAborted = function () {
  if (++checks === ${check}) process.kill(process.pid, 'SIGINT')
  return throwIfAborted.call(this)
}`

const interrupt = (args: string[], env: Record<string, string>, check: number) =>
  runInProcess(args, env, '', {
    nodeOptions: [preloadOption(preload(check))],
  })

const count = 20_000
const line = '{"name":"Milo","categoryId":1}\n'
/** A file is read twice: the first pass checks it, the second one writes. */
const checksPerPass = Math.ceil((count * line.length) / 65_536)

describe('Ctrl-C says what a command has done', { concurrency: 2 }, () => {
  test('an import that checks its file has changed nothing', async (t) => {
    const { env, file } = await importOf(t)
    const { code, stderr } = await interrupt(['import', file], env, 2)
    assert.deepEqual([code, stderr], [130, 'Interrupted: nothing was imported.\n'])
    assert.equal((await contentsOf(env)).pets?.length, 0)
  })

  test('a dry run that counts the changes has changed nothing', async (t) => {
    const { env, file } = await importOf(t)
    const { code, stderr } = await interrupt(['import', file, '--dry-run'], env, checksPerPass + 2)
    assert.deepEqual([code, stderr], [130, 'Interrupted: nothing was imported.\n'])
  })

  test('an import that writes continues after the last batch', async (t) => {
    const { env, ok, file } = await importOf(t)
    const check = checksPerPass + Math.floor(checksPerPass / 2)
    const { code, stderr } = await interrupt(['import', file], env, check)
    assert.equal(code, 130, stderr)
    const [, last = ''] =
      /^Interrupted: the lines up to (\d+) are imported\. Start the import again with the same file and options to continue\.\n$/.exec(
        stderr,
      ) ?? []
    assert.equal((await contentsOf(env)).pets?.length, Number(last), stderr)
    assert.ok(Number(last) > 0 && Number(last) < count)
    assert.match(await ok(['import', file]), new RegExp(`^Continued after line ${last},`))
    assert.equal((await contentsOf(env)).pets?.length, count)
  })

  test('seed keeps what it has added', async (t) => {
    const { env } = await cliOnNewDatabase(t)
    const { code, stderr } = await interrupt(['seed', '--count', String(count)], env, 2)
    assert.equal(code, 130)
    const [, added] = /^Interrupted: (\d+) of 20000 animals were added\.\n$/.exec(stderr) ?? []
    assert.ok(Number(added) < count, stderr)
    assert.equal((await contentsOf(env)).pets?.length, Number(added))
  })
})

async function importOf(t: Parameters<typeof folderFor>[0]) {
  const file = join(folderFor(t), 'animals.ndjson')
  writeFileSync(file, line.repeat(count))
  return { ...(await cliOnNewDatabase(t)), file }
}
