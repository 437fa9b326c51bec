/** Data access of the peers with SQLite: one file, one connection, prepared statements. */
import { hash } from 'node:crypto'

export const statuses = ['available', 'pending', 'sold'] as const
export type Status = (typeof statuses)[number]
export type NewPet = { name: string; categoryId: number; status?: Status | undefined }
export type Pet = { id: number; name: string; categoryId: number; status: Status }
export type Key = { id: number; perMinute: number; perDay: number }

/** What `node:sqlite` and `bun:sqlite` have in common. */
type Sqlite = {
  exec(sql: string): unknown
  prepare(sql: string): {
    get(...values: (string | number)[]): unknown
    all(...values: (string | number)[]): unknown[]
  }
}

export const schema = `
  CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    per_minute INTEGER NOT NULL,
    per_day INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE pets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    status TEXT NOT NULL
  ) STRICT;
  CREATE INDEX pets_by_status ON pets (status, id);
`

export const databaseFile = process.env.PETS_FILE ?? 'pets.db'

export const hashKey = (secret: string): string => hash('sha256', secret)

export function openPets(db: Sqlite) {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
  const columns = 'id, name, category_id AS categoryId, status'
  const key = db.prepare('SELECT id, per_minute AS perMinute, per_day AS perDay FROM api_keys WHERE hash = ?')
  const all = db.prepare(`SELECT ${columns} FROM pets ORDER BY id DESC LIMIT ?`)
  const byStatus = db.prepare(`SELECT ${columns} FROM pets WHERE status = ? ORDER BY id DESC LIMIT ?`)
  const one = db.prepare(`SELECT ${columns} FROM pets WHERE id = ?`)
  const insert = db.prepare(
    `INSERT INTO pets (name, category_id, status) VALUES (?, ?, ?) RETURNING ${columns}`,
  )
  return {
    // `node:sqlite` returns undefined for no row, `bun:sqlite` null.
    findKey: (secret: string) => (key.get(hashKey(secret)) ?? undefined) as Key | undefined,
    list: (limit: number, status: Status | undefined) =>
      (status === undefined ? all.all(limit) : byStatus.all(status, limit)) as Pet[],
    find: (id: number) => (one.get(id) ?? undefined) as Pet | undefined,
    create: ({ name, categoryId, status = 'available' }: NewPet) =>
      insert.get(name, categoryId, status) as Pet,
  }
}
