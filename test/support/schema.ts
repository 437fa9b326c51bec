import { sql } from 'kysely'
import type { Database } from '../../src/database/database.ts'
import { engine } from './engine.ts'

const schemaQuery = {
  sqlite: 'SELECT sql AS line FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name',
  // Not-null constraints are left out: they are properties of columns, and constraints from PostgreSQL 18 on.
  postgres: `
    SELECT line FROM (
      SELECT 'table ' || c.relname || ' ' || c.relpersistence::text || ' ' || coalesce(c.reloptions::text, '') AS line
      FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
      UNION ALL
      SELECT 'column ' || table_name || '.' || column_name || ' ' || ordinal_position || ' ' || data_type || ' '
        || is_nullable || ' ' || coalesce(column_default, '') || ' ' || coalesce(identity_generation, '')
      FROM information_schema.columns WHERE table_schema = 'public'
      UNION ALL
      SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
      UNION ALL
      SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
      WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
      UNION ALL
      SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
      UNION ALL
      SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    ) AS lines ORDER BY line COLLATE "C"`,
}[engine]

/** The schema of a database as text. */
export async function schemaOf(database: Database): Promise<string> {
  const { rows } = await sql.raw<{ line: string }>(schemaQuery).execute(database.read)
  return rows.map(({ line }) => `${line}\n`).join('')
}
