/** Rows 2, 10b and 10c: the service on Bun, against Bun's own server. */
import type { Bench } from '../bench.ts'
import { type Figure, notRun, type Row, rows } from '../figures.ts'
import type { Server } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { type Contestant, compare, describeRounds, playRounds } from '../rounds.ts'
import { findBun, startBare, startService } from '../servers.ts'
import { keyIn, petstoreStore } from '../stores.ts'
import { memoryFigure } from './throughput.ts'

export async function bun(bench: Bench): Promise<Figure[]> {
  const { options } = bench
  const wanted: Row[] = [
    ...(options.rows.has(2) ? [rows.listBun] : []),
    ...(options.rows.has(10) ? [rows.memoryBun, rows.memoryBunCreate] : []),
  ]
  try {
    const program = findBun()
    if (program === undefined) throw new Error('Bun is not installed for this machine.')
    return await play(bench, program)
  } catch (error) {
    // The table says that it could not be run, and why: a row that vanishes is never missed.
    return wanted.map((row) => notRun(row, error))
  }
}

async function play(bench: Bench, program: string): Promise<Figure[]> {
  const { cores, options } = bench
  const servers: Server[] = []
  try {
    const { list, create } = requestsWith(keyIn(await petstoreStore()))
    const service = await startService(cores, { name: 'petstore on Bun', bun: program })
    servers.push(service)
    const contestants: Contestant[] = [{ name: service.name, servers: [service], request: list }]
    if (options.rows.has(2)) {
      const bare = await startBare(cores, service, list, program)
      servers.push(bare)
      contestants.push({ name: bare.name, servers: [bare], request: list })
    }
    const [ours = [], theirs = []] = (await playRounds(bench, 'Bun, list', contestants)).values()
    const figures: Figure[] = []
    if (options.rows.has(2)) {
      const detail = `${describeRounds(ours)}; bare Bun.serve ${describeRounds(theirs)}`
      figures.push({ row: rows.listBun, ...compare(ours, theirs), detail })
    }
    if (options.rows.has(10)) {
      const creating: Contestant = { name: service.name, servers: [service], request: create }
      const [created = []] = (await playRounds(bench, 'Bun, create', [creating])).values()
      for (const [row, rounds] of [
        [rows.memoryBun, ours],
        [rows.memoryBunCreate, created],
      ] as const) {
        const samples = rounds.map(({ residentMb }) => residentMb)
        figures.push(memoryFigure(row, samples))
      }
    }
    return figures
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}
