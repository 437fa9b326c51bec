/** Row 13: what a change costs while many streams are open, in processor time, against what it costs without them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { startPostgres } from '../../test/support/postgres.ts'
import type { Bench } from '../bench.ts'
import { type Figure, notRun, type Row, rows } from '../figures.ts'
import { cpuSeconds, moveTo, othersMax, pinned, residentMb, watchOthers } from '../machine.ts'
import { adopt, environment, here, runProgram, type Server } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { startService } from '../servers.ts'
import { median, spreadOf } from '../statistics.ts'
import { createKey, newFolder, petstore } from '../stores.ts'
import { beDurable } from './postgres.ts'

const streams = 1_000
const perSecond = 200
/** Until the last events have gone out. */
const settleMs = 1_500
const warmUpSeconds = 4

type Keys = { readonly create: string; readonly follow: string }

export async function streaming(bench: Bench): Promise<Figure[]> {
  const embedded = await play(bench, rows.streams, { PETSTORE_DATA_DIR: newFolder() }).catch(
    (error: unknown) => notRun(rows.streams, error),
  )
  if (bench.options.isQuick) return [embedded]
  return [embedded, await onPostgres(bench).catch((error: unknown) => notRun(rows.streamsPostgres, error))]
}

async function onPostgres(bench: Bench): Promise<Figure> {
  const { cores } = bench
  moveTo(cores, cores.postgres)
  const database = await startPostgres().finally(() => moveTo(cores, cores.load))
  try {
    await beDurable(database.adminUrl)
    return await play(bench, rows.streamsPostgres, { DATABASE_URL: database.adminUrl })
  } finally {
    await database.stop()
  }
}

async function play(bench: Bench, row: Row, env: Record<string, string>): Promise<Figure> {
  const { cores, options, progress } = bench
  const keys = { create: await createKey(env), follow: await followKey(env) }
  const service = await startService(cores, { folder: env.PETSTORE_DATA_DIR ?? newFolder(), env })
  try {
    progress(`streams: warming up, ${row.id}`)
    await write(bench, service, keys, warmUpSeconds)
    const seconds = options.isQuick ? 2 : 6
    const rounds = options.isQuick ? 2 : Math.min(options.rounds, 7)
    const others = watchOthers(cores.server, [service.pid])
    const without: number[] = []
    const withStreams: number[] = []
    const memoryMb: number[] = []
    for (let round = 0; round < rounds; round++) {
      const measure = () => write(bench, service, keys, seconds)
      without.push(await measure())
      const before = residentMb(service.pid) ?? Number.NaN
      withStreams.push(
        await whileFollowing(bench, service, keys, async () => {
          memoryMb.push((residentMb(service.pid) ?? Number.NaN) - before)
          return measure()
        }),
      )
      progress(
        `streams: round ${round + 1} of ${rounds}, ${row.id}: ${withStreams.at(-1)?.toFixed(2)} ms against ${without.at(-1)?.toFixed(2)}`,
      )
    }
    const ratios = withStreams.map((ms, round) => ms / (without[round] ?? Number.NaN))
    return {
      row,
      found: spreadOf(ratios),
      isDisturbed: others() > othersMax,
      detail: `${median(withStreams).toFixed(2)} ms of processor time a create; against ${median(without).toFixed(2)} ms. ${streams} streams take ${memoryMb[0]?.toFixed(0)} MB when they are first opened`,
    }
  } finally {
    await service.stop()
  }
}

/** A key that may follow events. */
async function followKey(env: Record<string, string>): Promise<string> {
  const settings = ['--plan', 'enterprise', '--streams', String(streams), '--scope', 'events:read']
  const printed = await runProgram(
    petstore('keys', 'create', '--name', 'streams', ...settings, '--json'),
    env,
  )
  return JSON.parse(printed).key
}

/** Creates at a fixed rate; returns the milliseconds of processor time that the service took for each. */
async function write(bench: Bench, service: Server, keys: Keys, seconds: number): Promise<number> {
  const { create } = requestsWith(keys.create)
  const command = [process.execPath, join(here, 'load', 'writes.ts')]
  const used = () => cpuSeconds(service.pid) ?? Number.NaN
  const before = used()
  const printed = await runProgram(pinned(bench.cores, bench.cores.load, command), {
    BENCH_PORT: String(service.port),
    BENCH_PATH: create.path,
    BENCH_AUTHORIZATION: create.headers.Authorization ?? '',
    BENCH_BODY: create.body ?? '',
    BENCH_PER_SECOND: String(perSecond),
    BENCH_SECONDS: String(seconds),
  })
  await pause(settleMs)
  return ((used() - before) * 1000) / JSON.parse(printed).answered
}

/** Every stream must have received the newest event in the end, or the round is no figure. */
async function whileFollowing<T>(
  { cores }: Bench,
  service: Server,
  keys: Keys,
  measure: () => Promise<T>,
): Promise<T> {
  const [program = '', ...args] = pinned(cores, cores.load, [
    process.execPath,
    join(here, 'load', 'streams.ts'),
  ])
  const child = spawn(program, args, {
    env: environment({
      BENCH_PORT: String(service.port),
      BENCH_AUTHORIZATION: `Bearer ${keys.follow}`,
      BENCH_STREAMS: String(streams),
    }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  adopt(child)
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  if ((await lines.next()).done) throw new Error('The streams could not be opened.')
  const found = await measure()
  child.kill('SIGTERM')
  const { value } = await lines.next()
  await ended
  const report = JSON.parse(value ?? '{}')
  if (report.streams !== streams || report.lastIds?.length !== 1)
    throw new Error(`Not every stream received every event: ${value}`)
  return found
}
