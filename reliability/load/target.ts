import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createKey, openCheckout } from '../../bench/data/checkout.ts'
import { copyDir, readKey, removeRunDirs } from '../../bench/data/databases.ts'
import { fillListings, listingDatabase } from '../../bench/data/listingDatabase.ts'
import { assignCores, type Cores, pinned } from '../../bench/host/cores.ts'
import { cleanEnv, type Env, killChildren, type Server, trackChild } from '../../bench/host/processes.ts'
import { repositoryDir } from '../../bench/host/programs.ts'
import { createDatabase, startDurablePostgres } from '../../bench/servers/postgres.ts'
import { startService } from '../../bench/servers/service.ts'
import type { ArrivalPlan, GroupReport, RequestKind } from './plan.ts'

/** A running service with animals, on a core of its own. */
export type Target = {
  readonly server: Server
  readonly cores: Cores
  /** Two keys without a practical limit. */
  readonly keys: readonly [string, string]
  readonly animals: number
  makeKey(): Promise<string>
  stop(): Promise<void>
}

export type Engine = 'sqlite' | 'postgres'

const animals = 5_000
/** With two cores, PostgreSQL and the callers share one. With the same priority, the callers sent requests 1 s late. */
const callersNiceness = -15

// A run that fails leaves no server behind.
process.once('exit', killChildren)
process.once('exit', () => setSessionNiceness(0))

export async function startTarget(engine: Engine, env: Env = {}): Promise<Target> {
  const cores = assignCores()
  const checkout = openCheckout(repositoryDir)
  if (engine === 'sqlite') {
    const dataDir = copyDir(await listingDatabase(checkout, animals))
    const makeKey = () => createKey(checkout, { PETSTORE_DATA_DIR: dataDir })
    const keys = [readKey(dataDir), await makeKey()] as const
    const server = await startService(cores, checkout, { dataDir, env })
    const stop = async () => {
      await server.stop()
      removeRunDirs()
    }
    return { server, cores, keys, animals, makeKey, stop }
  }
  if (cores.isPinned && cores.postgres === cores.load) setSessionNiceness(callersNiceness)
  const postgres = await startDurablePostgres(cores)
  const databaseUrl = await createDatabase(postgres.adminUrl, 'reliability')
  const databaseEnv = { DATABASE_URL: databaseUrl }
  const makeKey = () => createKey(checkout, databaseEnv)
  const keys = [await fillListings(checkout, databaseEnv, animals), await makeKey()] as const
  const server = await startService(cores, checkout, {
    dataDir: '',
    env: { ...env, ...databaseEnv },
  })
  const stop = async () => {
    await server.stop()
    await postgres.stop()
    setSessionNiceness(0)
  }
  return { server, cores, keys, animals, makeKey, stop }
}

/**
 * Linux shares a core between sessions, and each connection of PostgreSQL is a session. Without
 * root the priority stays the same, and the measured times include the delay.
 */
function setSessionNiceness(niceness: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(niceness))
  } catch {}
}

/** What callers of a store do: lists, searches, single animals, and a fifth of changes, so that no page stays cached. */
export const mixedRequests = (ids: number): RequestKind[] => {
  const list: RequestKind = { method: 'GET', path: '/v1/pets?status=available', ids }
  const read: RequestKind = { method: 'GET', path: '/v1/pets/{id}', ids }
  const create: RequestKind = {
    method: 'POST',
    path: '/v1/pets',
    ids,
    body: '{"name":"Milo {n}","categoryId":3}',
  }
  const change: RequestKind = { method: 'PATCH', path: '/v1/pets/{id}', ids, body: '{"name":"Luna {n}"}' }
  const search = (query: string): RequestKind => ({ method: 'GET', path: `/v1/listings?${query}&n={n}`, ids })
  return [
    ...[list, search('species=dog&limit=20'), read, create, search('q=ba&status=available')],
    ...[list, search('species=cat&sex=female'), read, change, search('goodWith=dogs&size=small')],
  ]
}

/** Runs callers in a process of its own, on the core of the load. */
export async function runArrivals(
  { cores, server }: Target,
  plan: Omit<ArrivalPlan, 'port'>,
): Promise<GroupReport[]> {
  const file = fileURLToPath(new URL('arrivals.ts', import.meta.url))
  const [program = '', ...args] = pinned(cores, cores.load, [process.execPath, file])
  const env = cleanEnv({ RELIABILITY_PLAN: JSON.stringify({ ...plan, port: server.port }) })
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  trackChild(child)
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return JSON.parse(output)
}
