import { setTimeout as pause } from 'node:timers/promises'
import { databaseName, failures, PostgresPair } from '../../test/failover/postgresPair.ts'
import { haproxyFor } from '../../test/support/haproxy.ts'
import { adminKey, instancesDefault } from '../../test/support/instances.ts'
import { folderFor, type SuiteCleanup, serverFor } from '../../test/support/servers.ts'
import { proxyFor, type TcpProxy } from '../../test/support/tcpProxy.ts'
import { pick, type Random } from './callers.ts'
import { Cluster } from './cluster.ts'
import { between, type Fault, instanceFaults } from './faults.ts'

/** A service, and lists of faults that happen at the same time. */
export type Stage = { readonly cluster: Cluster; readonly faults: readonly (readonly Fault[])[] }

const settings = { PETSTORE_ADMIN_KEY: adminKey, PETSTORE_LOG_LEVEL: 'error' }
const hangMs = { min: 300, max: 4_000 }
const promoteAfterMs = { min: 200, max: 2_500 }

export async function sqliteStage(owner: SuiteCleanup): Promise<Stage> {
  const env = { ...settings, PETSTORE_DATA_DIR: folderFor(owner) }
  const cluster = await Cluster.start(1, () => serverFor(owner, env))
  return { cluster, faults: [instanceFaults(cluster)] }
}

/**
 * Three instances on the primary of two PostgreSQL servers, which they reach through HAProxy, as in the guide to
 * clusters, and each through a proxy that cuts and delays its connections.
 */
export async function postgresStage(owner: SuiteCleanup): Promise<Stage> {
  const pair = await PostgresPair.start(owner)
  const haproxy = await haproxyFor(owner, pair.ports)
  const databaseUrl = pair.urlAt(haproxy.port, databaseName)
  const proxies: TcpProxy[] = []
  for (let n = 0; n < instancesDefault; n++) proxies.push(await proxyFor(owner, databaseUrl))
  const PETSTORE_DATA_DIR = folderFor(owner)
  const cluster = await Cluster.start(instancesDefault, (index) => {
    const DATABASE_URL = (proxies[index] as TcpProxy).through(databaseUrl)
    return serverFor(owner, { ...settings, PETSTORE_DATA_DIR, DATABASE_URL })
  })
  return { cluster, faults: [instanceFaults(cluster), databaseFaults(pair, proxies)] }
}

/** What happens to PostgreSQL and to the connections to it. */
function databaseFaults(pair: PostgresPair, proxies: readonly TcpProxy[]): Fault[] {
  const one = (random: Random) => pick(proxies, random)
  const cut: Fault = { name: 'cut of connections to PostgreSQL', run: (random) => one(random).cut() }
  const lose: Fault = {
    name: 'lost response to a commit',
    run: (random) => void one(random).cutAt('COMMIT\0', 'afterResponse'),
  }
  const hang: Fault = {
    name: 'hanging connections to PostgreSQL',
    async run(random) {
      const proxy = one(random)
      proxy.hang()
      await pause(between(hangMs, random))
      proxy.flow()
    },
  }
  const restart: Fault = { name: 'restart of PostgreSQL', run: () => pair.restart() }
  let failovers = 0
  const failOver: Fault = {
    name: 'failover',
    async run(random) {
      const ways = Object.values(failures)
      ways[failovers++ % ways.length]?.(pair.primary)
      await pause(between(promoteAfterMs, random))
      await pair.promote()
      await pause(between(promoteAfterMs, random))
      await pair.addStandby()
    },
  }
  return [cut, cut, lose, lose, hang, restart, failOver]
}
