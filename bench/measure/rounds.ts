import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../host/processes.ts'
import { cpuSeconds, residentMb, watchOtherProcesses } from '../host/usage.ts'
import type { RequestSpec } from '../load/load.ts'
import { recordResponse } from '../servers/recordedResponse.ts'
import type { BenchContext } from './context.ts'

/** A server under test, or several that share the load, with the request that they receive. */
export type Candidate = {
  readonly name: string
  readonly servers: readonly Server[]
  readonly request: RequestSpec
  /** The connections of each server. Without it, the servers share all connections. */
  readonly connectionsEach?: number
}

export type Round = {
  readonly requestsPerSecond: number
  /** Shares of one core. */
  readonly serverCpu: number
  readonly loadCpu: number
  readonly otherCpu: number
  readonly requestsPerCpuSecond: number
  readonly residentMb: number
}

export type Rounds = readonly Round[]

export const connectionCount = 64
const idleTimeoutMs = 60_000
const idlePollMs = 50
const idleCpuShareMax = 0.2
const sizeTolerance = 0.1
/** In fewer requests, responses that were cut off at the end distort the average size. */
const sizeCheckRequestsMin = 100 * connectionCount

/** Measures the candidates in interleaved rounds (A, B, C, then C, B, A), so disturbances affect all alike. */
export async function measureRounds(
  context: BenchContext,
  title: string,
  candidates: readonly Candidate[],
): Promise<Rounds[]> {
  const { options, progress } = context
  const results = candidates.map((candidate) => ({ candidate, rounds: [] as Round[] }))
  const warmUp = (candidate: Candidate, seconds: number) => runRound(context, candidate, seconds, true)
  for (const candidate of candidates) {
    progress(`${title}: warming up ${candidate.name}`)
    await warmUp(candidate, options.initialWarmUpSeconds)
    await waitUntilIdle(candidate)
  }
  for (let round = 0; round < options.rounds; round++) {
    for (const { candidate, rounds } of round % 2 === 0 ? results : results.toReversed()) {
      await warmUp(candidate, options.warmUpSeconds)
      const result = await runRound(context, candidate, options.seconds, false)
      rounds.push(result)
      const rate = Math.round(result.requestsPerSecond)
      progress(`${title}: round ${round + 1} of ${options.rounds}, ${candidate.name} ${rate}/s`)
      await waitUntilIdle(candidate)
    }
  }
  return results.map(({ rounds }) => rounds)
}

async function runRound(
  { load, cores }: BenchContext,
  { name, servers, request, connectionsEach }: Candidate,
  seconds: number,
  isWarmUp: boolean,
): Promise<Round> {
  const expected = await recordResponse(name, servers[0]?.port ?? 0, request)
  const cpuBefore = cpuOf(servers)
  const otherCpuShare = watchOtherProcesses(
    cores.server,
    servers.map(({ pid }) => pid),
  )
  const connectionsOf = (index: number) => connectionsEach ?? connectionShare(servers.length, index)
  const results = await Promise.all(
    servers.map(({ port }, index) =>
      load.run({ port, request, seconds, isWarmUp, connections: connectionsOf(index) }),
    ),
  )
  const used = cpuOf(servers) - cpuBefore
  const otherCpu = otherCpuShare()
  const sum = (pick: (result: (typeof results)[number]) => number) =>
    results.reduce((total, result) => total + pick(result), 0)
  const requests = sum((result) => result.requests)
  const elapsed = Math.max(...results.map((result) => result.seconds))
  const meanBytes = sum((result) => result.bytes) / requests
  // wrk counts a status of 400 or higher as an error. The size detects other unexpected responses.
  if (requests >= sizeCheckRequestsMin && Math.abs(meanBytes / expected.bytes - 1) > sizeTolerance)
    throw new Error(
      `${name}: responses to ${request.path} had ${meanBytes.toFixed(0)} bytes, expected ${expected.bytes}.`,
    )
  return {
    requestsPerSecond: sum((result) => result.requests / result.seconds),
    serverCpu: used / elapsed,
    loadCpu: sum((result) => result.cpuSeconds) / elapsed,
    // Unknown for servers on several cores.
    otherCpu: servers.length > 1 && new Set(cores.threeServers).size > 1 ? 0 : otherCpu,
    requestsPerCpuSecond: requests / used,
    residentMb: Math.max(...servers.map(({ pid }) => residentMb(pid))),
  }
}

const cpuOf = (servers: readonly Server[]) => servers.reduce((total, { pid }) => total + cpuSeconds(pid), 0)

const connectionShare = (parts: number, index: number) =>
  Math.floor(connectionCount / parts) + (index < connectionCount % parts ? 1 : 0)

/** A slow server still processes requests after the load has ended. They must not affect the next measurement. */
async function waitUntilIdle({ servers }: Candidate): Promise<void> {
  const deadline = performance.now() + idleTimeoutMs
  for (let before = cpuOf(servers); performance.now() < deadline; ) {
    await sleep(idlePollMs)
    const now = cpuOf(servers)
    if (!((now - before) / (idlePollMs / 1000) > idleCpuShareMax)) return
    before = now
  }
}
