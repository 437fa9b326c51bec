/** Row 8: the service on PostgreSQL, one and three instances, against bare servers on the same tables. */
import { createKey } from '../data/checkout.ts'
import { petCount } from '../data/databases.ts'
import { seedPets } from '../data/searchIndex.ts'
import { type Env, type Server, stopAll } from '../host/processes.ts'
import { compareRounds, describeRounds } from '../measure/comparison.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import type { Result } from '../measure/result.ts'
import { type Candidate, measureRounds } from '../measure/rounds.ts'
import { startBarePostgres } from '../servers/bare.ts'
import { startDurablePostgres } from '../servers/postgres.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { type Row, rows } from '../targets.ts'

const poolSize = '10'
/** A page costs the same; the seed takes less time. */
const quickPetCount = 20_000

export const listOnPostgres: Measurement = {
  rows: [rows.listPostgres, rows.listPostgresThree],
  async run(context) {
    const { cores, options, checkout, progress } = context
    progress('PostgreSQL: starting')
    const postgres = await startDurablePostgres(cores)
    try {
      const env = { DATABASE_URL: postgres.adminUrl, PETSTORE_DATABASE_POOL: poolSize }
      const count = options.isQuick ? quickPetCount : petCount
      progress(`PostgreSQL: seeding ${count} pets`)
      await seedPets(checkout, env, count)
      const key = await createKey(checkout, env)
      const results = [await measureInstances(context, rows.listPostgres, env, key, [cores.server])]
      if (isSelected(context, rows.listPostgresThree))
        results.push(await measureInstances(context, rows.listPostgresThree, env, key, cores.threeServers))
      return results
    } finally {
      await postgres.stop()
    }
  },
}

/** One instance on each of these cores. */
async function measureInstances(
  context: BenchContext,
  row: Row,
  env: Env,
  key: string,
  instanceCores: readonly string[],
): Promise<Result> {
  const { cores, checkout } = context
  const { list } = requestsWith(key)
  const started: Server[] = []
  const startAll = async (name: string, start: (core: string) => Promise<Server>): Promise<Candidate> => {
    const servers: Server[] = []
    for (const core of instanceCores) {
      const server = await start(core)
      servers.push(server)
      started.push(server)
    }
    return { name: `${name} x ${servers.length}`, servers, request: list }
  }
  try {
    const candidates = [
      await startAll('petstore', (core) => startService(cores, checkout, { core, dataDir: '', env })),
      await startAll('bare pg', (core) => startBarePostgres(cores, core, env)),
    ]
    const [ours = [], theirs = []] = await measureRounds(context, 'list on PostgreSQL', candidates)
    return compareRounds(row, ours, theirs, `${describeRounds(ours)}; bare ${describeRounds(theirs)}`)
  } finally {
    await stopAll(started)
  }
}
