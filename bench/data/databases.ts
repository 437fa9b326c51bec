/**
 * The databases that the servers use. Each is built once, cached in bench/.data and copied for each run. They are next
 * to the sources, because a temporary directory can be in memory, where a commit does not wait for a disk.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { benchDir, repositoryDir } from '../host/programs.ts'
import { hashKey, type Pet, schema } from '../peers/pets.ts'
import { type Checkout, createKey, openCheckout, rateLimit } from './checkout.ts'
import { seedPets } from './searchIndex.ts'

export const petCount = 100_000

export const dataDir = join(benchDir, '.data')
const runDir = join(dataDir, `run-${process.pid}`)
let runDirCount = 0

/** Returns a cached directory, and builds it first if needed. */
export async function cachedDir(
  checkout: Checkout,
  name: string,
  build: (dir: string) => Promise<void>,
): Promise<string> {
  const dir = join(dataDir, `${name}-${checkout.fingerprint}`)
  if (existsSync(dir)) return dir
  // Keeps one version besides that of this repository.
  const current = `${name}-${openCheckout(repositoryDir).fingerprint}`
  for (const entry of dataEntries())
    if (entry.startsWith(`${name}-`) && entry !== current) rmSync(join(dataDir, entry), { recursive: true })
  // Renamed when complete, so an interrupted build is never used.
  const partial = join(dataDir, `building-${process.pid}-${name}`)
  mkdirSync(partial, { recursive: true })
  await build(partial)
  renameSync(partial, dir)
  return dir
}

export function copyDir(source: string): string {
  const copy = createRunDir()
  cpSync(source, copy, { recursive: true })
  return copy
}

/** A new directory that is removed at the end of the run. */
export function createRunDir(): string {
  const dir = join(runDir, String(++runDirCount))
  mkdirSync(dir, { recursive: true })
  return dir
}

export function removeRunDirs(): void {
  for (const entry of dataEntries())
    if (entry === basename(runDir) || entry.startsWith(`building-${process.pid}-`))
      rmSync(join(dataDir, entry), { recursive: true, force: true })
}

/** Removes what killed runs have left behind. */
export function removeStaleDirs(): void {
  for (const entry of dataEntries()) {
    const pid = /^(?:run|building)-(\d+)/.exec(entry)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(dataDir, entry), { recursive: true })
  }
}

const dataEntries = () => (existsSync(dataDir) ? readdirSync(dataDir) : [])

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export const writeKey = (dir: string, key: string) => writeFileSync(join(dir, 'key'), key, { mode: 0o600 })

export const readKey = (dir: string): string => readFileSync(join(dir, 'key'), 'utf8')

/** The database of most rows: 100,000 pets and a key. */
export const seededDatabase = (checkout: Checkout): Promise<string> =>
  cachedDir(checkout, 'petstore', async (dir) => {
    const env = { PETSTORE_DATA_DIR: dir }
    await seedPets(checkout, env, petCount)
    writeKey(dir, await createKey(checkout, env))
  })

/** The same pets and key for the peers: pets.db for those with SQLite, pets.json for json-server. */
export const peerDatabase = (checkout: Checkout): Promise<string> =>
  cachedDir(checkout, 'peers', async (dir) => {
    const source = await seededDatabase(checkout)
    const from = new DatabaseSync(join(source, 'petstore.db'), { readOnly: true })
    const pets = from
      .prepare('SELECT id, name, category_id AS categoryId, status FROM pets ORDER BY id')
      .all() as Pet[]
    from.close()
    const to = new DatabaseSync(join(dir, 'pets.db'))
    to.exec(`PRAGMA journal_mode = WAL; ${schema} BEGIN`)
    to.prepare('INSERT INTO api_keys (hash, name, per_minute, per_day) VALUES (?, ?, ?, ?)').run(
      hashKey(readKey(source)),
      'bench',
      rateLimit,
      rateLimit,
    )
    const insert = to.prepare('INSERT INTO pets (id, name, category_id, status) VALUES (?, ?, ?, ?)')
    for (const { id, name, categoryId, status } of pets) insert.run(id, name, categoryId, status)
    to.exec('COMMIT')
    to.close()
    writeFileSync(join(dir, 'pets.json'), JSON.stringify({ pets }))
  })
