import { otherCpuShareMax } from '../host/usage.ts'
import { median, spreadOf } from '../statistics.ts'
import type { Row } from '../targets.ts'
import type { Result } from './result.ts'
import type { Round, Rounds } from './rounds.ts'

const busyShare = 0.9

/** Compares rounds pair by pair: more than 1 means that `ours` is faster. */
export function compareRounds(row: Row, ours: Rounds, theirs: Rounds, detail: string): Result {
  const ratios = (pick: (round: Round) => number) =>
    ours.map((round, index) => pick(round) / pick(theirs[index] as Round))
  const byCpuTime = median(ratios(({ requestsPerCpuSecond }) => requestsPerCpuSecond))
  return {
    row,
    measured: spreadOf(ratios(({ requestsPerSecond }) => requestsPerSecond)),
    ...(Number.isFinite(byCpuTime) && { byCpuTime }),
    isLoadBound: isLoadBound(ours) || isLoadBound(theirs),
    isDisturbed: isDisturbed(ours) || isDisturbed(theirs),
    detail,
  }
}

export const medianOf = (rounds: Rounds, pick: (round: Round) => number) => median(rounds.map(pick))

export const isDisturbed = (rounds: Rounds) => medianOf(rounds, ({ otherCpu }) => otherCpu) > otherCpuShareMax

const isLoadBound = (rounds: Rounds) =>
  medianOf(rounds, ({ loadCpu }) => loadCpu) > busyShare &&
  medianOf(rounds, ({ serverCpu }) => serverCpu) < busyShare

export const rateOf = (rounds: Rounds) => medianOf(rounds, ({ requestsPerSecond }) => requestsPerSecond)

/** `31,200/s (server 99 %, load 41 %)`: requests per second, and shares of a core. */
export function describeRounds(rounds: Rounds): string {
  const percent = (pick: (round: Round) => number) => `${Math.round(medianOf(rounds, pick) * 100)} %`
  const rate = Math.round(rateOf(rounds)).toLocaleString('en')
  return `${rate}/s (server ${percent(({ serverCpu }) => serverCpu)}, load ${percent(({ loadCpu }) => loadCpu)})`
}
