import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRunDir } from '../data/databases.ts'
import { type Cores, pinned } from '../host/cores.ts'
import { type Env, type Server, startServer } from '../host/processes.ts'
import { benchDir } from '../host/programs.ts'
import type { RequestSpec } from '../load/load.ts'
import { assertSameResponse, recordResponse } from './recordedResponse.ts'

/** Headers that `node:http` adds to each response. */
const nodeHeaders = new Set(['date', 'connection', 'keep-alive'])

/** Starts a bare server that replays one response of the service. */
export async function startBare(
  cores: Cores,
  service: Server,
  request: RequestSpec,
  bun?: string,
): Promise<Server> {
  const response = await recordResponse(service.name, service.port, request)
  // `Bun.serve` adds no header except Date, so it replays all.
  const headers = response.headers.filter(
    ([name]) => bun !== undefined || !nodeHeaders.has(name.toLowerCase()),
  )
  const file = join(createRunDir(), 'response.json')
  writeFileSync(file, JSON.stringify({ ...response, headers }))
  const [name, program] = bun === undefined ? ['bare node:http', 'node.ts'] : ['bare Bun.serve', 'bun.ts']
  const bare = await startServer({
    name,
    command: pinned(cores, cores.server, [bun ?? process.execPath, join(benchDir, 'bare', program)]),
    env: { PORT: '0', BENCH_RESPONSE: file },
  })
  assertSameResponse(response, await recordResponse(bare.name, bare.port, request))
  return bare
}

/** Starts a server that runs one `pg` query per request. */
export const startBarePostgres = (cores: Cores, core: string, env: Env): Promise<Server> =>
  startServer({
    name: 'bare pg',
    command: pinned(cores, core, [process.execPath, join(benchDir, 'bare', 'postgres.ts')]),
    env: { ...env, PORT: '0' },
  })
