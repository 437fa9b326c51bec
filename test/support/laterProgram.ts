/** The program with one more migration: the next version, to upgrade a database to. Run as the main file of a process. */
import { type Migration, migrations } from '../../src/database/migrate.ts'

/** Changes a table that every part of the program uses. Fails if it is applied twice. */
export const laterMigration: Migration = {
  name: 'later',
  script: () => 'ALTER TABLE pets ADD COLUMN from_a_later_version text; CREATE TABLE later (id integer)',
}

if (import.meta.main) {
  const list = migrations as Migration[]
  list.push(laterMigration)
  await import('../../src/main.ts')
}
