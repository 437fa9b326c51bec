import { startPostgres } from '../../test/support/postgres.ts'
import { type Cores, moveTo } from '../host/cores.ts'

/** Starts a PostgreSQL server on its core, with fsync, which the tests switch off. */
export function startDurablePostgres(cores: Cores): ReturnType<typeof startPostgres> {
  // The server inherits the core of this process.
  moveTo(cores, cores.postgres)
  return startPostgres({ fsync: 'on', full_page_writes: 'on' }).finally(() => moveTo(cores, cores.load))
}
