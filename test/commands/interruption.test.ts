import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cliOnNewDatabase } from '../support/commands.ts'
import { contentsOf } from '../support/engine.ts'
import { jpeg } from '../support/images.ts'
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

  for (const [what, withNumbers] of [
    ['continues with them', true],
    ['says that those of animals without an external id are lost', false],
  ] as const)
    test(`an import that adds photos adds no animal again, and ${what}`, async (t) => {
      const { env, run } = await cliOnNewDatabase(t)
      const folder = folderFor(t)
      const image = await jpeg(40, 30)
      const names = Array.from({ length: 12 }, (_, at) => `Pet ${at}`)
      for (const name of names) writeFileSync(join(folder, `${name}.jpg`), image)
      const file = join(folder, 'animals.csv')
      const rows = names.map((name, at) => (withNumbers ? `${at + 1},${name},1` : `${name},1`))
      writeFileSync(file, [withNumbers ? 'ref,name,category' : 'name,category', ...rows].join('\n'))
      const args = ['import', file, '--photos-from', folder]
      // Two checks while the file is read, one before the animals are written, and one for each animal with photos.
      const { code, stderr } = await interrupt(args, env, 4)
      const lost = '. Photos of animals without an external id cannot be continued'
      assert.deepEqual(
        [code, stderr],
        [
          130,
          `Interrupted: the animals are imported. Start the import again with the same file and options to continue with the rest${withNumbers ? '' : lost}.\n`,
        ],
      )
      const first = await contentsOf(env)
      assert.deepEqual([first.pets?.length, (first.photos?.length ?? 0) < 12], [12, true])
      const again = await run(args)
      assert.match(again.stdout, /^Continued after line 13,/)
      const { pets, photos, imports } = await contentsOf(env)
      assert.deepEqual([pets?.length, imports], [12, []])
      if (withNumbers) assert.deepEqual([again.code, photos?.length], [0, 12])
      else {
        assert.deepEqual([again.code, photos?.length], [3, first.photos?.length])
        assert.match(
          again.stderr,
          /^Line 2: Its photos are left out\. The animal has no external id, so it is not known after an interruption\.\n/,
        )
      }
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
