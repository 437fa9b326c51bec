import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { applyFile } from '../../src/commands/import/applyFile.ts'
import { checkFile, FileConflicts } from '../../src/commands/import/checkFile.ts'
import { type ImportInput, openInput } from '../../src/commands/import/input.ts'
import { Problems } from '../../src/commands/import/problems.ts'
import { readRecords } from '../../src/commands/import/readRecords.ts'
import { readConfig } from '../../src/config.ts'
import { openDatabaseFor } from '../support/engine.ts'
import { folderFor } from '../support/servers.ts'

const count = 12_000
/** More than one batch. */
const halfBytes = 6_000 * '{"name":"Milo","categoryId":1}\n'.length

/** A checked file of new animals, and a database. `apply` runs `interfere` in the middle of the file. */
async function checkedFileFor(t: TestContext) {
  const { env, database } = await openDatabaseFor(t)
  const file = join(folderFor(t), 'animals.ndjson')
  writeFileSync(file, '{"name":"Milo","categoryId":1}\n'.repeat(count))
  const input = await openInput(file)
  t.after(() => input.close())
  const conflicts = new FileConflicts()
  const options = { format: 'ndjson', withKeys: false, map: new Map(), externalId: undefined } as const
  const { signal } = new AbortController()
  const problems = new Problems(undefined, file)
  const checked = await checkFile({ input, options, conflicts, problems, signal })
  const apply = (interfere?: () => Promise<unknown> | unknown) => {
    const source: ImportInput = interfere ? { ...input, open: () => pausing(input, interfere) } : input
    const config = readConfig(env)
    const batches = () => readRecords(source.open(), options)
    const applyOptions = { config, skipBad: false, skippedLines: new Set<number>(), signal }
    return applyFile(database, source, { ...checked, batches }, applyOptions)
  }
  const countPets = async () => (await database.read.selectFrom('pets').select('id').execute()).length
  return { file, apply, countPets }
}

async function* pausing(input: ImportInput, pause: () => Promise<unknown> | unknown): AsyncGenerator<Buffer> {
  let bytesRead = 0
  for await (const bytes of input.open()) {
    yield bytes
    if (bytesRead < halfBytes && bytesRead + bytes.length >= halfBytes) await pause()
    bytesRead += bytes.length
  }
}

test('of two imports of a file at the same time, one stops, and every animal is added once', async (t) => {
  const { apply, countPets } = await checkedFileFor(t)
  let continued = 0
  const first = apply(async () => {
    const { resumedAfterLine = 0 } = await apply()
    continued = resumedAfterLine
  })
  await assert.rejects(first, /^Error: Another import of this file is running, or has just ended\.\n/)
  assert.ok(continued > 0)
  assert.equal(await countPets(), count)
})

test('an import stops if its file is changed', async (t) => {
  const { file, apply, countPets } = await checkedFileFor(t)
  const change = () => appendFileSync(file, '{"name":"not checked","categoryId":1}\n')
  await assert.rejects(
    apply(change),
    /^Error: The file was changed during the import\.\nThe lines up to \d+ are imported\.$/,
  )
  const applied = await countPets()
  assert.ok(applied > 0 && applied < count, `${applied}`)
  await assert.rejects(apply(), /^Error: The file was changed during the import\./)
  assert.equal(await countPets(), applied)
})
