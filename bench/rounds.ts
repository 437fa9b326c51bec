import { setTimeout as pause } from 'node:timers/promises'
import { askWell } from './answers.ts'
import type { Bench } from './bench.ts'
import type { Request } from './load.ts'
import { cpuSeconds, othersMax, residentMb, watchOthers } from './machine.ts'
import type { Server } from './processes.ts'
import { median, type Spread, spreadOf } from './statistics.ts'

/** Who takes part: a server, or several that share the load, and what they are asked. */
export type Contestant = {
  readonly name: string
  readonly servers: readonly Server[]
  readonly request: Request
}

type Round = {
  /** Answers a second. */
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Shares of one core. */
  readonly serverCpu: number
  readonly loadCpu: number
  /** What other programs took of the server's core. */
  readonly othersCpu: number
  /** Answers for each second of processor time that the server used, which other programs hardly change. */
  readonly perCpuSecond: number
  readonly residentMb: number
}

export type Rounds = readonly Round[]

const connectionsDefault = 64
const settleMaxMs = 60_000
const settlePauseMs = 50
const settledCpu = 0.2
const sizeTolerance = 0.1

/**
 * Interleaved rounds: A, B, C, then C, B, A, and so on, so that whatever else the machine does meets all alike. What is
 * compared is compared within a round.
 */
export async function playRounds(
  bench: Bench,
  title: string,
  contestants: readonly Contestant[],
  connections = connectionsDefault,
): Promise<Map<Contestant, Rounds>> {
  const { options, progress } = bench
  const found = new Map<Contestant, Round[]>(contestants.map((contestant) => [contestant, []]))
  const warmUp = (contestant: Contestant, seconds: number) =>
    playRound(bench, contestant, connections, seconds, true)
  for (const contestant of contestants) {
    progress(`${title}: warming up ${contestant.name}`)
    await warmUp(contestant, options.firstWarmUpSeconds)
    await untilSettled(contestant)
  }
  for (let round = 0; round < options.rounds; round++) {
    for (const contestant of round % 2 === 0 ? contestants : contestants.toReversed()) {
      await warmUp(contestant, options.warmUpSeconds)
      const result = await playRound(bench, contestant, connections, options.seconds, false)
      found.get(contestant)?.push(result)
      progress(
        `${title}: round ${round + 1} of ${options.rounds}, ${contestant.name} ${Math.round(result.rate)}/s`,
      )
      await untilSettled(contestant)
    }
  }
  return found
}

async function playRound(
  { load, cores }: Bench,
  { name, servers, request }: Contestant,
  connections: number,
  seconds: number,
  isWarmUp: boolean,
): Promise<Round> {
  const sample = await askWell(name, servers[0]?.port ?? 0, request)
  const before = cpuOf(servers)
  const others = watchOthers(
    cores.server,
    servers.map(({ pid }) => pid),
  )
  const results = await Promise.all(
    servers.map(({ port }, index) =>
      load.run({
        port,
        request,
        seconds,
        isWarmUp,
        connections: shareOf(connections, servers.length, index),
      }),
    ),
  )
  const used = cpuOf(servers) - before
  const othersCpu = others()
  const memory = Math.max(...servers.map(({ pid }) => residentMb(pid) ?? Number.NaN))
  const sum = (pick: (result: (typeof results)[number]) => number) =>
    results.reduce((total, result) => total + pick(result), 0)
  const requests = sum((result) => result.requests)
  const elapsed = Math.max(...results.map((result) => result.seconds))
  mustHaveSize(name, request, sum((result) => result.bytes) / requests, sample.bytes, requests, connections)
  return {
    rate: sum((result) => result.requests / result.seconds),
    p50Ms: Math.max(...results.map((result) => result.p50Ms)),
    p99Ms: Math.max(...results.map((result) => result.p99Ms)),
    serverCpu: used / elapsed,
    loadCpu: sum((result) => result.cpuSeconds) / elapsed,
    // Servers on several cores are not counted: there is no telling who used which.
    othersCpu: new Set(cores.three).size > 1 && servers.length > 1 ? 0 : othersCpu,
    perCpuSecond: requests / used,
    residentMb: memory,
  }
}

/**
 * wrk counts answers of 400 and above as bad; what is below and yet not the answer that we mean, such as an empty one,
 * is found by its size.
 */
function mustHaveSize(
  name: string,
  { path }: Request,
  mean: number,
  expected: number,
  requests: number,
  connections: number,
): void {
  // Answers that were cut off at the end are among the bytes, but not among the requests.
  if (requests < 100 * connections) return
  if (Math.abs(mean / expected - 1) > sizeTolerance) {
    throw new Error(`${name}: answers to ${path} had ${mean.toFixed(0)} bytes in place of ${expected}.`)
  }
}

const cpuOf = (servers: readonly Server[]) =>
  servers.reduce((total, { pid }) => total + (cpuSeconds(pid) ?? Number.NaN), 0)

const shareOf = (total: number, parts: number, index: number) =>
  Math.floor(total / parts) + (index < total % parts ? 1 : 0)

/** A slow server still works on what it was sent when the load has gone, which the next must not suffer from. */
async function untilSettled({ servers }: Contestant): Promise<void> {
  const deadline = performance.now() + settleMaxMs
  for (let before = cpuOf(servers); performance.now() < deadline; ) {
    await pause(settlePauseMs)
    const now = cpuOf(servers)
    if (!((now - before) / (settlePauseMs / 1000) > settledCpu)) return
    before = now
  }
}

/** One measured against another. */
type Comparison = {
  readonly found: Spread
  /** The same by processor time in place of wall time, where that can be told. */
  readonly byCpu?: number
  readonly isLoadBound: boolean
  readonly isDisturbed: boolean
}

export function compare(ours: Rounds, theirs: Rounds): Comparison {
  const ratios = (pick: (round: Round) => number) =>
    ours.map((round, index) => pick(round) / pick(theirs[index] as Round))
  const byCpu = median(ratios(({ perCpuSecond }) => perCpuSecond))
  return {
    found: spreadOf(ratios(({ rate }) => rate)),
    ...(Number.isFinite(byCpu) && { byCpu }),
    isLoadBound: isLoadBound(ours) || isLoadBound(theirs),
    isDisturbed: isDisturbed(ours) || isDisturbed(theirs),
  }
}

const busy = 0.9

/** Other programs were on the server's core: by wall time this is a rumour, by processor time still a figure. */
const isDisturbed = (rounds: Rounds) => median(rounds.map(({ othersCpu }) => othersCpu)) > othersMax

/** The generator is the limit where it has no time left and the server has. */
const isLoadBound = (rounds: Rounds) =>
  median(rounds.map(({ loadCpu }) => loadCpu)) > busy &&
  median(rounds.map(({ serverCpu }) => serverCpu)) < busy

export const rateOf = (rounds: Rounds) => median(rounds.map(({ rate }) => rate))

/** `31,200/s (server 99 %, load 41 %)`: answers a second, and shares of a core. */
export function describeRounds(rounds: Rounds): string {
  const percent = (pick: (round: Round) => number) => `${Math.round(median(rounds.map(pick)) * 100)} %`
  const rate = Math.round(rateOf(rounds)).toLocaleString('en')
  return `${rate}/s (server ${percent((round) => round.serverCpu)}, load ${percent((round) => round.loadCpu)})`
}
