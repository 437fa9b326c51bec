import type { TestContext } from 'node:test'
import { assertHaproxyInstalled, haproxyFor } from '../support/haproxy.ts'
import { adminKey, instancesDefault, makeAmpleKey, startAll } from '../support/instances.ts'
import { folderFor, type Server, serverFor } from '../support/servers.ts'
import { databaseName, PostgresPair } from './postgresPair.ts'

/** Instances that reach the primary of a pair of PostgreSQL servers through HAProxy. */
export type Service = {
  readonly pair: PostgresPair
  readonly haproxyLog: () => string
  readonly databaseUrl: string
  readonly servers: readonly Server[]
  /** A key with all scopes and ample limits. */
  readonly key: string
}

export async function serviceFor(owner: Pick<TestContext, 'after'>): Promise<Service> {
  assertHaproxyInstalled()
  const pair = await PostgresPair.start(owner)
  const haproxy = await haproxyFor(owner, pair.ports)
  const databaseUrl = pair.urlAt(haproxy.port, databaseName)
  const env = {
    PETSTORE_DATA_DIR: folderFor(owner),
    DATABASE_URL: databaseUrl,
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_LOG_LEVEL: 'error',
  }
  const servers = await startAll(instancesDefault, () => serverFor(owner, env))
  return {
    pair,
    haproxyLog: haproxy.log,
    databaseUrl,
    servers,
    key: await makeAmpleKey(servers[0] as Server),
  }
}
