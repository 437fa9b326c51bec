import { mkdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../host/processes.ts'
import { type Checkout, createKey, petstore } from './checkout.ts'
import { cachedDir, dataDir, writeKey } from './databases.ts'

/** Upper bound for a row with its entries in three indexes. The cached database and its copy exist at the same time. */
const bytesPerPetMax = 160
const copies = 2

/** Pets of this category are rare and evenly spread: the pages of a filtered list come from the whole table. */
export const rareCategoryId = 7
const rarePetsSmall = 25
const rarePetsLarge = 100
export const rarePetInterval = (count: number) =>
  Math.floor(count / (count < 100_000 ? rarePetsSmall : rarePetsLarge))

/**
 * A database of any size, with the schema of the service. `petstore seed` takes minutes for ten million pets and
 * doubles the size with their events. This inserts all pets with one statement and creates the indexes afterwards.
 */
export function scaleDatabase(checkout: Checkout, count: number): Promise<string> {
  return cachedDir(checkout, `scale-${count}`, async (dir) => {
    checkDiskSpace(count)
    const env = { PETSTORE_DATA_DIR: dir }
    await runProgram(petstore(checkout, 'migrate'), env)
    writeKey(dir, await createKey(checkout, env))
    // In a separate process, because the statement blocks the event loop and signals would not be handled.
    const program = fileURLToPath(import.meta.url)
    await runProgram([process.execPath, program, join(dir, 'petstore.db'), String(count)])
  })
}

function fill(db: DatabaseSync, count: number): void {
  // No durability is needed: an incomplete database is built again.
  db.exec(
    'PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -500000',
  )
  const dropped = db
    .prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'pets' AND type IN ('index', 'trigger') AND sql IS NOT NULL",
    )
    .all() as { type: string; name: string; sql: string }[]
  for (const { type, name } of dropped) db.exec(`DROP ${type} ${name}`)
  const category = db.prepare('INSERT INTO categories (category_id, name) VALUES (?, ?)')
  for (let id = 1; id <= rareCategoryId; id++) category.run(id, `Category ${id}`)
  // 70 % available, 20 % pending, 10 % sold, as with `petstore seed`.
  db.exec(`
    BEGIN;
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
    INSERT INTO pets (name, category_id, status)
    SELECT
      'Animal ' || (n % 9973),
      CASE WHEN n % ${rarePetInterval(count)} = 0 THEN ${rareCategoryId} ELSE n % 6 + 1 END,
      CASE WHEN n % 10 < 7 THEN 'available' WHEN n % 10 < 9 THEN 'pending' ELSE 'sold' END
    FROM numbers;
    UPDATE inventory SET count = (SELECT count(*) FROM pets WHERE pets.status = inventory.status);
    COMMIT;
  `)
  for (const { sql } of dropped) db.exec(sql)
  skipSearchIndex(db)
  db.exec('PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL')
  db.close()
}

/** The service takes the index for complete. No request of row 7 reads it, and filling it would take hours. */
function skipSearchIndex(db: DatabaseSync): void {
  if (!db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'listing_terms'").get()) return
  db.prepare("INSERT INTO cursors (name, value) VALUES ('listings.filled', ?)").run(
    BigInt(Number.MAX_SAFE_INTEGER),
  )
}

function checkDiskSpace(count: number): void {
  mkdirSync(dataDir, { recursive: true })
  const { bavail, bsize } = statfsSync(dataDir)
  const needed = count * bytesPerPetMax * copies
  if (bavail * bsize < needed)
    throw new Error(`${count} pets need ${(needed / 1e9).toFixed(1)} GB of free space in bench/.data.`)
}

const [, program, file, count] = process.argv
if (program === fileURLToPath(import.meta.url) && file !== undefined)
  fill(new DatabaseSync(file), Number(count))
