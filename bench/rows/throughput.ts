/** Rows 1 to 4, 9 and 10: requests per second and memory with SQLite, on Node and on Bun. */
import { readKey, seededDatabase } from '../data/databases.ts'
import { type Server, stopAll } from '../host/processes.ts'
import { findBun } from '../host/programs.ts'
import { compareRounds, describeRounds, rateOf } from '../measure/comparison.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { type Candidate, measureRounds, type Rounds } from '../measure/rounds.ts'
import { startBare } from '../servers/bare.ts'
import { bunPeers, nodePeers, type PeerName, requestFor, startPeer } from '../servers/peers.ts'
import { type Operation, requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { type Row, rows } from '../targets.ts'

type Part = {
  readonly operation: Operation
  readonly bare?: Row
  readonly express?: Row
  readonly peers: Row
  readonly memory?: Row
}

type Runtime = {
  readonly name: string
  readonly peers: readonly PeerName[]
  readonly parts: readonly Part[]
  /** The executable, if it is not this Node. */
  findBun(): string | undefined
}

const node: Runtime = {
  name: 'Node',
  peers: nodePeers,
  parts: [
    { operation: 'list', bare: rows.list, peers: rows.listPeers, memory: rows.memory },
    { operation: 'read', bare: rows.read, peers: rows.readPeers, memory: rows.memory },
    { operation: 'create', express: rows.create, peers: rows.createPeers, memory: rows.memory },
  ],
  findBun: () => undefined,
}

const bun: Runtime = {
  name: 'Bun',
  peers: bunPeers,
  parts: [
    { operation: 'list', bare: rows.listBun, peers: rows.listPeersBun, memory: rows.memoryBun },
    { operation: 'read', peers: rows.readPeersBun },
    { operation: 'create', peers: rows.createPeersBun, memory: rows.memoryBunCreate },
  ],
  findBun,
}

const rowsOf = ({ bare, express, peers, memory }: Part): Row[] =>
  [bare, express, peers, memory].filter((row) => row !== undefined)

const measurementOf = (runtime: Runtime): Measurement => ({
  rows: [...new Set(runtime.parts.flatMap(rowsOf))],
  run: (context) => measureRuntime(context, runtime),
})

export const throughputOnNode = measurementOf(node)
export const throughputOnBun = measurementOf(bun)

async function measureRuntime(context: BenchContext, runtime: Runtime): Promise<Result[]> {
  const results: Result[] = []
  const memorySamples = new Map<Row, number[]>()
  for (const part of runtime.parts) {
    if (!rowsOf(part).some((row) => isSelected(context, row))) continue
    try {
      const entries = await measurePart(context, runtime, part)
      results.push(...resultsOf(part, entries))
      const samples = entries.find(({ kind }) => kind === 'service')?.rounds.map((round) => round.residentMb)
      if (part.memory && samples)
        memorySamples.set(part.memory, [...(memorySamples.get(part.memory) ?? []), ...samples])
    } catch (error) {
      results.push(
        ...rowsOf(part)
          .filter((row) => row !== part.memory)
          .map((row) => failedResult(row, error)),
      )
    }
  }
  for (const row of new Set(runtime.parts.flatMap(({ memory }) => (memory ? [memory] : []))))
    results.push(memoryResult(row, memorySamples.get(row) ?? []))
  return results
}

function memoryResult(row: Row, samples: readonly number[]): Result {
  const value = Math.max(...samples)
  if (!Number.isFinite(value)) return failedResult(row, 'No round was measured, or there is no /proc.')
  return {
    row,
    measured: { value, min: Math.min(...samples), max: value },
    detail: `maximum of ${samples.length} samples, one at the end of each round`,
  }
}

type Entry = { readonly name: string; readonly kind: 'service' | 'bare' | PeerName; readonly rounds: Rounds }

async function measurePart(context: BenchContext, runtime: Runtime, part: Part): Promise<Entry[]> {
  const { cores, checkout } = context
  const bunProgram = runtime.findBun()
  const request = requestsWith(readKey(await seededDatabase(checkout)))[part.operation]
  const servers: Server[] = []
  const entries: { kind: Entry['kind']; candidate: Candidate }[] = []
  const add = (kind: Entry['kind'], server: Server, sent = request) => {
    servers.push(server)
    entries.push({ kind, candidate: { name: server.name, servers: [server], request: sent } })
  }
  try {
    const service = await startService(cores, checkout, { bun: bunProgram })
    add('service', service)
    if (part.bare && isSelected(context, part.bare))
      add('bare', await startBare(cores, service, request, bunProgram))
    for (const peer of peersFor(context, runtime, part))
      add(peer, await startPeer(cores, checkout, peer), requestFor(peer, request))
    const title = `${part.operation} on ${runtime.name}`
    const measured = await measureRounds(
      context,
      title,
      entries.map(({ candidate }) => candidate),
    )
    return entries.map(({ kind, candidate }, index) => ({
      name: candidate.name,
      kind,
      rounds: measured[index] ?? [],
    }))
  } finally {
    await stopAll(servers)
  }
}

/** json-server is too slow for a quick run. */
function peersFor(context: BenchContext, { peers }: Runtime, part: Part): readonly PeerName[] {
  if (isSelected(context, part.peers))
    return context.options.isQuick ? peers.filter((name) => name !== 'json-server') : peers
  return part.express && isSelected(context, part.express) ? ['express'] : []
}

function resultsOf(part: Part, entries: readonly Entry[]): Result[] {
  const find = (kind: Entry['kind']) => entries.find((entry) => entry.kind === kind)
  const service = find('service')
  if (!service) throw new Error('The service was not measured.')
  const against = (row: Row | undefined, other: Entry | undefined, more = ''): Result[] => {
    if (!row || !other) return []
    const detail = `${describeRounds(service.rounds)}; ${other.name} ${describeRounds(other.rounds)}${more}`
    return [compareRounds(row, service.rounds, other.rounds, detail)]
  }
  const [fastest, ...slower] = entries
    .filter(({ kind }) => kind !== 'service' && kind !== 'bare')
    .toSorted((a, b) => rateOf(b.rounds) - rateOf(a.rounds))
  const others = slower.map(({ name, rounds }) => `; ${name} ${describeRounds(rounds)}`).join('')
  return [
    ...against(part.bare, find('bare')),
    ...against(part.express, find('express')),
    ...against(part.peers, fastest, others),
  ]
}
