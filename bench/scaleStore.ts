import { mkdirSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { runProgram } from './processes.ts'
import { createKey, dataFolder, kept, petstore } from './stores.ts'

/** What a row with its places in three indexes takes, generously; the kept store and the copy that is worked on. */
const bytesPerAnimal = 160
const copiesMax = 2

/** Animals of this category are rare and lie far apart: every page of them is gathered from all over the store. */
export const rareCategory = 7
const rareMin = 25
const rareMax = 100
export const rareEvery = (count: number) => Math.floor(count / (count < 100_000 ? rareMin : rareMax))

/**
 * A store of any size, in the schema that the service itself makes. `petstore seed` would take minutes for ten million, and
 * twice the room, since every animal is told of in an event; here they are written by one statement, and the indexes made afterwards.
 */
export function scaleStore(count: number): Promise<string> {
  return kept(`scale-${count}`, async (folder) => {
    mustHaveSpace(count)
    const env = { PETSTORE_DATA_DIR: folder }
    await runProgram(petstore('migrate'), env)
    writeFileSync(join(folder, 'key'), await createKey(env), { mode: 0o600 })
    // By a program of its own, so that one can be stopped in the middle.
    await runProgram([
      process.execPath,
      fileURLToPath(import.meta.url),
      join(folder, 'petstore.db'),
      String(count),
    ])
  })
}

function fill(db: DatabaseSync, count: number): void {
  // Nothing needs to survive a power cut here: a store that is not whole is built again.
  db.exec(
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000',
  )
  const made = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'pets' AND type IN ('index', 'trigger') AND sql IS NOT NULL",
    )
    .all() as { type: string; name: string; sql: string }[]
  for (const { type, name } of made) db.exec(`DROP ${type} ${name}`)
  const category = db.prepare('INSERT INTO categories (category_id, name) VALUES (?, ?)')
  for (let id = 1; id <= rareCategory; id++) category.run(id, `Category ${id}`)
  // Of ten animals seven are available, two pending, one sold, as with `petstore seed`.
  db.exec(`
    BEGIN;
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO pets (name, category_id, status)
    SELECT
      'Animal ' || (n % 9973),
      CASE WHEN n % ${rareEvery(count)} = 0 THEN ${rareCategory} ELSE n % 6 + 1 END,
      CASE WHEN n % 10 < 7 THEN 'available' WHEN n % 10 < 9 THEN 'pending' ELSE 'sold' END
    FROM numbers;
    UPDATE inventory SET count = (SELECT count(*) FROM pets WHERE pets.status = inventory.status);
    COMMIT;
  `)
  for (const { sql } of made) db.exec(sql)
  db.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL')
  db.close()
}

function mustHaveSpace(count: number): void {
  mkdirSync(dataFolder, { recursive: true })
  const { bavail, bsize } = statfsSync(dataFolder)
  const needed = count * bytesPerAnimal * copiesMax
  if (bavail * bsize < needed) {
    throw new Error(`${count} animals need ${(needed / 1e9).toFixed(1)} GB free in bench/.data.`)
  }
}

const [, program, file, count] = process.argv
if (program === fileURLToPath(import.meta.url) && file !== undefined)
  fill(new DatabaseSync(file), Number(count))
