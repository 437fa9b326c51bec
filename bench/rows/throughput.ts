/** Rows 1, 3, 4, 9 and 10: how many answers a second, embedded, on Node. */
import type { Bench } from '../bench.ts'
import { type Figure, notRun, numberOf, type Row, rows } from '../figures.ts'
import type { Request } from '../load.ts'
import type { Server } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { type Contestant, compare, describeRounds, playRounds, type Rounds, rateOf } from '../rounds.ts'
import { type PeerName, requestOf, startBare, startPeer, startService } from '../servers.ts'
import { keyIn, petstoreStore } from '../stores.ts'

type Part = {
  readonly title: string
  readonly request: Request
  readonly bare?: Row
  /** Against the afternoon version alone. */
  readonly afternoon?: Row
  readonly peers: Row
}

const peersAll: readonly PeerName[] = ['express', 'fastify', 'json-server']

export async function throughput(bench: Bench): Promise<Figure[]> {
  const { rows: wanted } = bench.options
  const { list, read, create } = requestsWith(keyIn(await petstoreStore()))
  const parts: Part[] = []
  const isListed = wanted.has(1) || wanted.has(9) || wanted.has(10)
  if (isListed) parts.push({ title: 'list', request: list, bare: rows.list, peers: rows.listPeers })
  if (wanted.has(3) || wanted.has(9) || wanted.has(10))
    parts.push({ title: 'read', request: read, bare: rows.read, peers: rows.readPeers })
  if (wanted.has(4) || wanted.has(9) || wanted.has(10))
    parts.push({ title: 'create', request: create, afternoon: rows.create, peers: rows.createPeers })

  const figures: Figure[] = []
  const memory: number[] = []
  for (const part of parts) {
    try {
      const { found, service } = await playPart(bench, part)
      figures.push(...figuresOf(bench, part, found))
      memory.push(...service.map(({ residentMb }) => residentMb))
    } catch (error) {
      const concerned = [part.bare, part.afternoon, part.peers].filter((row) => row !== undefined)
      figures.push(...concerned.filter((row) => wanted.has(numberOf(row))).map((row) => notRun(row, error)))
    }
  }
  if (wanted.has(10)) figures.push(memoryFigure(rows.memory, memory))
  return figures
}

export function memoryFigure(row: Row, samples: readonly number[]): Figure {
  const value = Math.max(...samples)
  if (!Number.isFinite(value)) return notRun(row, 'No round was played, or there is no /proc to look at.')
  return {
    row,
    found: { value, min: Math.min(...samples), max: value },
    detail: `the greatest of ${samples.length}, each at the end of a round`,
  }
}

type Played = { name: string; kind: 'service' | 'bare' | PeerName; rounds: Rounds }

async function playPart(bench: Bench, part: Part): Promise<{ found: Played[]; service: Rounds }> {
  const { cores, options } = bench
  const servers: Server[] = []
  const kinds = new Map<Contestant, Played['kind']>()
  const join = (kind: Played['kind'], server: Server, request = part.request) => {
    servers.push(server)
    kinds.set({ name: server.name, servers: [server], request }, kind)
  }
  try {
    const service = await startService(cores)
    join('service', service)
    if (part.bare && options.rows.has(numberOf(part.bare)))
      join('bare', await startBare(cores, service, part.request))
    for (const name of peersFor(bench, part))
      join(name, await startPeer(cores, name), requestOf(name, part.request))
    const found = await playRounds(bench, part.title, [...kinds.keys()])
    const played = [...found].map(([contestant, rounds]) => ({
      name: contestant.name,
      kind: kinds.get(contestant) ?? 'service',
      rounds,
    }))
    return { found: played, service: played.find(({ kind }) => kind === 'service')?.rounds ?? [] }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

function peersFor({ options }: Bench, { afternoon }: Part): readonly PeerName[] {
  if (options.rows.has(9))
    return options.isQuick ? peersAll.filter((name) => name !== 'json-server') : peersAll
  return afternoon && options.rows.has(4) ? ['express'] : []
}

function figuresOf({ options }: Bench, part: Part, played: readonly Played[]): Figure[] {
  const service = played.find(({ kind }) => kind === 'service')
  if (!service) throw new Error('The service did not take part.')
  const against = (row: Row, other: Played | undefined, more = ''): Figure[] => {
    if (!other) return []
    const detail = `${describeRounds(service.rounds)}; ${other.name} ${describeRounds(other.rounds)}${more}`
    return [{ row, ...compare(service.rounds, other.rounds), detail }]
  }
  const peers = played.filter(({ kind }) => kind !== 'service' && kind !== 'bare')
  const [fastest, ...slower] = peers.toSorted((a, b) => rateOf(b.rounds) - rateOf(a.rounds))
  const others = slower.map(({ name, rounds }) => `; ${name} ${describeRounds(rounds)}`).join('')
  const express = peers.find(({ kind }) => kind === 'express')
  return [
    ...(part.bare
      ? against(
          part.bare,
          played.find(({ kind }) => kind === 'bare'),
        )
      : []),
    ...(part.afternoon && options.rows.has(4) ? against(part.afternoon, express) : []),
    ...(options.rows.has(9) ? against(part.peers, fastest, others) : []),
  ]
}
