import { join } from 'node:path'
import type { Checkout } from '../data/checkout.ts'
import { copyDir, peerDatabase } from '../data/databases.ts'
import { type Cores, pinned } from '../host/cores.ts'
import { findFreePort, type Server, startServer } from '../host/processes.ts'
import { benchDir, findBun, packageProgram, packageVersion } from '../host/programs.ts'
import type { RequestSpec } from '../load/load.ts'

export const nodePeers = ['express', 'fastify', 'json-server'] as const
export const bunPeers = ['hono'] as const
export type PeerName = (typeof nodePeers | typeof bunPeers)[number]

export async function startPeer(cores: Cores, checkout: Checkout, peer: PeerName): Promise<Server> {
  const dataDir = copyDir(await peerDatabase(checkout))
  const name = `${peer} ${packageVersion(peer)}`
  if (peer === 'json-server') return startJsonServer(cores, name, join(dataDir, 'pets.json'))
  const runtime = peer === 'hono' ? findBun() : process.execPath
  return startServer({
    name,
    command: pinned(cores, cores.server, [runtime, join(benchDir, 'peers', `${peer}.ts`)]),
    env: { NODE_ENV: 'production', PETS_FILE: join(dataDir, 'pets.db'), PORT: '0' },
  })
}

async function startJsonServer(cores: Cores, name: string, file: string): Promise<Server> {
  const port = await findFreePort()
  const options = ['--host', '127.0.0.1', '--port', String(port)]
  return startServer({
    name,
    command: pinned(cores, cores.server, [process.execPath, packageProgram('json-server'), ...options, file]),
    env: { NODE_ENV: 'production', NO_UPDATE_NOTIFIER: '1' },
    port,
  })
}

/** json-server has other paths and parameters. */
export function requestFor(peer: PeerName, request: RequestSpec): RequestSpec {
  if (peer !== 'json-server') return request
  const path = request.path
    .replace(/^\/v1/, '')
    .replace('?status=available', '?status=available&_sort=id&_order=desc&_limit=20')
  return { ...request, path }
}
