/** Row 12: writes on PostgreSQL, near and 4 ms away, with one instance and with three. */
import { join } from 'node:path'
import { createKey } from '../data/checkout.ts'
import { petCount } from '../data/databases.ts'
import { seedPets } from '../data/searchIndex.ts'
import { pinned } from '../host/cores.ts'
import { type Env, runProgram, type Server, stopAll } from '../host/processes.ts'
import { benchDir } from '../host/programs.ts'
import type { RequestSpec } from '../load/load.ts'
import { compareRounds, describeRounds } from '../measure/comparison.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { connectionCount, measureRounds } from '../measure/rounds.ts'
import { startBarePostgres } from '../servers/bare.ts'
import { startDelayProxy } from '../servers/delayProxy.ts'
import { createDatabase, holdSnapshot, startDurablePostgres } from '../servers/postgres.ts'
import { changeRequest, requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { percentile, spreadOf } from '../statistics.ts'
import { type Row, rows } from '../targets.ts'

const poolSize = '10'
const roundTripMs = 4
/** So few that three instances do not use all of a core that they share. */
const fewConnections = 4
/** A change costs the same; the seed takes less time. */
const quickPetCount = 20_000
const delayedEvents = 400
const delayedEventsQuick = 40

/** The database, seeded, with the variables of servers that use it directly and through the proxy. */
type Setup = {
  readonly adminUrl: string
  readonly near: Env
  readonly far: Env
  /** The connection string of a database through the proxy. */
  through(databaseUrl: string): string
  readonly key: string
  readonly pets: number
}

type Part = readonly [row: Row, measure: (context: BenchContext, setup: Setup, row: Row) => Promise<Result>]

const parts: readonly Part[] = [
  [rows.createPostgresFar, (context, { far, key }, row) => againstBare(context, row, far, key)],
  [rows.createPostgres, (context, { near, key }, row) => againstBare(context, row, near, key)],
  [
    rows.changePostgresThree,
    (context, { far, key, pets }, row) =>
      againstOneInstance(context, row, far, context.cores.threeServers, changeRequest(key, pets)),
  ],
  [
    rows.createPostgresThree,
    (context, { near, key }, row) => {
      const { server } = context.cores
      return againstOneInstance(context, row, near, [server, server, server], requestsWith(key).create)
    },
  ],
  [
    rows.changePostgresThreeIdle,
    (context, { far, key, pets }, row) =>
      againstOneInstance(
        context,
        row,
        far,
        context.cores.threeServers,
        changeRequest(key, pets),
        fewConnections,
      ),
  ],
  [rows.eventDelayPostgres, measureEventDelay],
  [rows.createPostgresSnapshot, againstNoSnapshot],
]

export const writesOnPostgres: Measurement = {
  rows: parts.map(([row]) => row),
  async run(context) {
    const { cores, options, checkout, progress } = context
    progress('writes on PostgreSQL: starting')
    const postgres = await startDurablePostgres(cores)
    try {
      const { adminUrl } = postgres
      const proxy = await startDelayProxy(cores, adminUrl, roundTripMs)
      const near = envFor(adminUrl)
      const pets = options.isQuick ? quickPetCount : petCount
      progress(`writes on PostgreSQL: seeding ${pets} pets`)
      await seedPets(checkout, near, pets)
      const key = await createKey(checkout, near)
      const { through } = proxy
      const setup = { adminUrl, near, far: envFor(through(adminUrl)), through, key, pets }
      const results: Result[] = []
      for (const [row, measure] of parts)
        if (isSelected(context, row))
          results.push(await measure(context, setup, row).catch((error) => failedResult(row, error)))
      await proxy.stop()
      return results
    } finally {
      await postgres.stop()
    }
  },
}

const envFor = (url: string): Env => ({ DATABASE_URL: url, PETSTORE_DATABASE_POOL: poolSize })

async function againstBare(context: BenchContext, row: Row, env: Env, key: string): Promise<Result> {
  const { cores } = context
  const request = requestsWith(key).create
  const [service] = await startInstances(context, env, [cores.server])
  const servers = [service as Server]
  try {
    const bare = await startBarePostgres(cores, cores.server, env)
    servers.push(bare)
    const [ours = [], theirs = []] = await measureRounds(
      context,
      row.id,
      servers.map((server) => ({ name: server.name, servers: [server], request })),
    )
    return compareRounds(row, ours, theirs, `${describeRounds(ours)}; bare ${describeRounds(theirs)}`)
  } finally {
    await stopAll(servers)
  }
}

/** An instance on each of these cores, against the first of them. */
async function againstOneInstance(
  context: BenchContext,
  row: Row,
  env: Env,
  instanceCores: readonly string[],
  request: RequestSpec,
  connectionsEach = connectionCount,
): Promise<Result> {
  const servers = await startInstances(context, env, instanceCores)
  try {
    const [all = [], one = []] = await measureRounds(context, row.id, [
      { name: 'three instances', servers, request, connectionsEach },
      { name: 'one instance', servers: servers.slice(0, 1), request, connectionsEach },
    ])
    return compareRounds(row, all, one, `${describeRounds(all)}; one instance ${describeRounds(one)}`)
  } finally {
    await stopAll(servers)
  }
}

/** On a database of its own: a stream first sends the events that are already recorded. */
async function measureEventDelay(
  context: BenchContext,
  { adminUrl, through }: Setup,
  row: Row,
): Promise<Result> {
  const { cores, options, checkout, progress } = context
  const env = envFor(through(await createDatabase(adminUrl, 'event_delay')))
  const streamKey = await createKey(checkout, env, '--scope', 'events:read')
  const { create } = requestsWith(await createKey(checkout, env))
  const servers = await startInstances(context, env, cores.threeServers.slice(0, 2))
  try {
    progress(`${row.id}: creating at one instance, reading the stream of another`)
    const command = [process.execPath, join(benchDir, 'load', 'eventDelay.ts')]
    const output = await runProgram(pinned(cores, cores.load, command), {
      BENCH_PORT: String(servers[0]?.port),
      BENCH_STREAM_PORT: String(servers[1]?.port),
      BENCH_PATH: create.path,
      BENCH_AUTHORIZATION: create.headers.Authorization ?? '',
      BENCH_STREAM_AUTHORIZATION: `Bearer ${streamKey}`,
      BENCH_BODY: create.body ?? '',
      BENCH_COUNT: String(options.isQuick ? delayedEventsQuick : delayedEvents),
      BENCH_SEED: '1',
    })
    const { delaysMs }: { delaysMs: number[] } = JSON.parse(output)
    const [median, p99] = [0.5, 0.99].map((share) => percentile(delaysMs, share).toFixed(0))
    const detail = `median ${median} ms, p99 ${p99} ms after the response to the create, ${delaysMs.length} events`
    return { row, measured: spreadOf(delaysMs), detail }
  } finally {
    await stopAll(servers)
  }
}

/** An open snapshot affects its own database only, so both can be measured in turn. */
async function againstNoSnapshot(context: BenchContext, { adminUrl }: Setup, row: Row): Promise<Result> {
  const { cores, checkout } = context
  const servers: Server[] = []
  const start = async (name: string) => {
    const env = envFor(await createDatabase(adminUrl, name))
    const key = await createKey(checkout, env)
    servers.push(...(await startInstances(context, env, [cores.server])))
    return { env, candidate: { name, servers: servers.slice(-1), request: requestsWith(key).create } }
  }
  try {
    const held = await start('with_snapshot')
    const free = await start('without_snapshot')
    const snapshot = await holdSnapshot(held.env.DATABASE_URL ?? '')
    const candidates = [held.candidate, free.candidate]
    const [ours = [], theirs = []] = await measureRounds(context, row.id, candidates).finally(
      snapshot.release,
    )
    const last = (ours.at(-1)?.requestsPerSecond ?? 0) / (theirs.at(-1)?.requestsPerSecond ?? Number.NaN)
    const detail = `${describeRounds(ours)}; without ${describeRounds(theirs)}; in the last round ${last.toFixed(2)}`
    return compareRounds(row, ours, theirs, detail)
  } finally {
    await stopAll(servers)
  }
}

async function startInstances(
  { cores, checkout }: BenchContext,
  env: Env,
  instanceCores: readonly string[],
): Promise<Server[]> {
  const servers: Server[] = []
  for (const core of instanceCores)
    servers.push(await startService(cores, checkout, { core, dataDir: '', env }))
  return servers
}
