import { createHash } from 'node:crypto'
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
import { basename, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hashOf, type Pet, schema } from './peers/pets.ts'
import { here, root, runProgram } from './processes.ts'

/**
 * The stores that the servers work on. Each is built once, kept under bench/.data, and copied for every run: a run
 * adds animals. They lie beside the sources and not in a temporary folder, which may be in memory, where a commit
 * waits for nothing.
 */
export const animals = 100_000
export const perMinute = 1_000_000_000

/** The folder of the service that is measured: this one, unless another is chosen. */
let serviceFolder = root

export function measureServiceIn(folder: string): void {
  serviceFolder = resolve(folder)
}

export const measuredService = (): string => serviceFolder

export const dataFolder = join(here, '.data')
/** To be raised when the stores below are filled otherwise. */
const layout = '1'
const runFolder = join(dataFolder, `run-${process.pid}`)
let copies = 0

/** Stores of another schema are other stores. */
function fingerprint(service: string): string {
  const folder = join(service, 'src', 'database', 'migrations')
  const hash = createHash('sha256')
  for (const name of readdirSync(folder).toSorted()) hash.update(readFileSync(join(folder, name)))
  hash.update(readFileSync(join(service, 'src', 'commands', 'seed.ts')))
  hash.update(layout)
  return hash.digest('hex').slice(0, 8)
}

/** Builds a folder under a passing name, so that one that was cut off is never taken for a whole one. */
export async function kept(name: string, build: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(dataFolder, `${name}-${fingerprint(serviceFolder)}`)
  if (existsSync(folder)) return folder
  // Those of another version that is measured once are not worth those of this one.
  const own = `${name}-${fingerprint(root)}`
  for (const old of existsSync(dataFolder) ? readdirSync(dataFolder) : []) {
    if (old.startsWith(`${name}-`) && old !== own) rmSync(join(dataFolder, old), { recursive: true })
  }
  const passing = join(dataFolder, `building-${process.pid}-${name}`)
  mkdirSync(passing, { recursive: true })
  await build(passing)
  renameSync(passing, folder)
  return folder
}

/** A folder of this run's own, with what is in the kept one. */
export function copyOf(folder: string): string {
  const copy = newFolder()
  cpSync(folder, copy, { recursive: true })
  return copy
}

export function newFolder(): string {
  const folder = join(runFolder, String(++copies))
  mkdirSync(folder, { recursive: true })
  return folder
}

/** What runs that were killed have left behind. */
export function removeLeftovers(): void {
  for (const name of existsSync(dataFolder) ? readdirSync(dataFolder) : []) {
    const pid = /^(?:run|building)-(\d+)/.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(dataFolder, name), { recursive: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

export function removeRunFolder(): void {
  for (const name of existsSync(dataFolder) ? readdirSync(dataFolder) : []) {
    if (name === basename(runFolder) || name.startsWith(`building-${process.pid}-`))
      rmSync(join(dataFolder, name), { recursive: true, force: true })
  }
}

/** What `npm start` gives to Node, as far as the service that is measured knows of it. */
export function runtime(): { options: string[]; env: Record<string, string> } {
  const { scripts } = JSON.parse(readFileSync(join(serviceFolder, 'package.json'), 'utf8'))
  const words = String(scripts.start).split(' ')
  return {
    options: words.filter((word) => word.startsWith('--')),
    env: Object.fromEntries(words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('='))),
  }
}

export const petstore = (...args: string[]) => [
  process.execPath,
  join(serviceFolder, 'bin', 'petstore.js'),
  ...args,
]

/** A key whose allowance no load can use up, made as an operator would. */
export async function createKey(env: Record<string, string>): Promise<string> {
  const limit = String(perMinute)
  const plan = ['--plan', 'enterprise', '--per-minute', limit, '--per-day', limit]
  const printed = await runProgram(petstore('keys', 'create', '--name', 'bench', ...plan, '--json'), env)
  return JSON.parse(printed).key
}

export const keyIn = (folder: string): string => readFileSync(join(folder, 'key'), 'utf8')

/** The store of most rows: 100,000 animals and the bench's key. */
export const petstoreStore = (): Promise<string> =>
  kept('petstore', async (folder) => {
    const env = { PETSTORE_DATA_DIR: folder }
    await runProgram(petstore('seed', '--count', String(animals)), env)
    writeFileSync(join(folder, 'key'), await createKey(env), { mode: 0o600 })
  })

/** The same animals and the same key for the peers: pets.db for those on SQLite, pets.json for json-server. */
export const peerStore = (): Promise<string> =>
  kept('peers', async (folder) => {
    const source = await petstoreStore()
    const from = new DatabaseSync(join(source, 'petstore.db'), { readOnly: true })
    const pets = from
      .prepare('SELECT id, name, category_id AS categoryId, status FROM pets ORDER BY id')
      .all() as Pet[]
    from.close()
    const to = new DatabaseSync(join(folder, 'pets.db'))
    to.exec(`PRAGMA journal_mode = WAL; ${schema} BEGIN`)
    to.prepare('INSERT INTO api_keys (hash, name, per_minute) VALUES (?, ?, ?)').run(
      hashOf(keyIn(source)),
      'bench',
      perMinute,
    )
    const insert = to.prepare('INSERT INTO pets (id, name, category_id, status) VALUES (?, ?, ?, ?)')
    for (const { id, name, categoryId, status } of pets) insert.run(id, name, categoryId, status)
    to.exec('COMMIT')
    to.close()
    writeFileSync(join(folder, 'pets.json'), JSON.stringify({ pets }))
  })
