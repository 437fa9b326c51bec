import type { Db, SqlDialect } from '../database/db.ts'
import { postgresSearchIndex } from './searchIndex.postgres.ts'
import { sqliteSearchIndex } from './searchIndex.sqlite.ts'
import type { SearchIndex } from './searchIndex.ts'

const indexes: Record<SqlDialect['engine'], SearchIndex> = {
  sqlite: sqliteSearchIndex,
  postgres: postgresSearchIndex,
}

export const searchIndexOf = (db: Db): SearchIndex => indexes[db.dialect.engine]
