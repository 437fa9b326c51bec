import type { Kysely } from 'kysely'
import type { SqlDialect } from './dialect.ts'
import type { Tables } from './tables.ts'

/** One step of the schema. A step that was released never changes: what must change becomes the next step. */
export type Migration = {
  version: number
  name: string
  up(db: Kysely<Tables>, dialect: SqlDialect): Promise<void>
}
