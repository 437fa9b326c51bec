import { join } from 'node:path'
import { type Checkout, petstore } from '../data/checkout.ts'
import { copyDir, seededDatabase } from '../data/databases.ts'
import { type Cores, pinned } from '../host/cores.ts'
import { type Env, type Server, startServer } from '../host/processes.ts'
import { benchDir } from '../host/programs.ts'

const unindexedProgram = join(benchDir, 'servers', 'unindexed.ts')

type ServiceOptions = {
  readonly name?: string
  readonly core?: string
  readonly dataDir?: string
  readonly env?: Env
  /** Without updates of the search index. */
  readonly isUnindexed?: boolean
  /** The Bun executable, to run on Bun. */
  readonly bun?: string | undefined
}

/** Starts the service as `npm start` does, by default on a copy of the seeded database. */
export async function startService(
  cores: Cores,
  checkout: Checkout,
  options: ServiceOptions = {},
): Promise<Server> {
  const { bun } = options
  const dataDir = options.dataDir ?? copyDir(await seededDatabase(checkout))
  const served = petstore(checkout, 'serve')
  const [node = '', ...args] = options.isUnindexed ? [process.execPath, unindexedProgram] : served
  const command = bun === undefined ? [node, ...checkout.nodeOptions, ...args] : [bun, ...args]
  return startServer({
    name: options.name ?? (bun === undefined ? 'petstore' : 'petstore on Bun'),
    command: pinned(cores, options.core ?? cores.server, command),
    env: {
      ...(bun === undefined && checkout.nodeEnv),
      PORT: '0',
      PETSTORE_DATA_DIR: dataDir,
      ...(options.isUnindexed && { BENCH_SERVICE_DIR: checkout.dir }),
      ...options.env,
    },
  })
}
