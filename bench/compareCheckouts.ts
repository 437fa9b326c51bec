/** `--compare DIR`: CPU time per request and memory of this checkout against another one, interleaved. */
import { type Checkout, openCheckout } from './data/checkout.ts'
import { readKey, seededDatabase } from './data/databases.ts'
import { type Server, stopAll } from './host/processes.ts'
import { findBun } from './host/programs.ts'
import { isDisturbed, medianOf } from './measure/comparison.ts'
import type { BenchContext } from './measure/context.ts'
import { type Candidate, measureRounds, type Rounds } from './measure/rounds.ts'
import { describeCheckout } from './report/run.ts'
import { type Operation, requestsWith } from './servers/requests.ts'
import { startService } from './servers/service.ts'
import { spreadOf } from './statistics.ts'

/** Returns a Markdown table. A ratio below 1 means that this checkout uses less CPU time. */
export async function compareCheckouts(context: BenchContext, otherDir: string): Promise<string> {
  const { options, checkout } = context
  const other = openCheckout(otherDir)
  // The first start after an update fills the compile cache, and uses more memory.
  await (await startService(context.cores, other)).stop()
  const lines: string[] = []
  for (const operation of options.operations) {
    const [ours = [], theirs = []] = await measureOperation(context, [checkout, other], operation)
    lines.push(formatLine(operation, ours, theirs))
  }
  const runtime = options.isBun ? 'Bun' : 'Node'
  return [
    '| | CPU time per request | other | ratio | range | memory | other |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
    '',
    `On ${runtime}, ${options.rounds} interleaved rounds of ${options.seconds} s, medians. This: ${describeCheckout(checkout)}. Other: ${describeCheckout(other)}.`,
  ].join('\n')
}

async function measureOperation(
  context: BenchContext,
  checkouts: readonly Checkout[],
  operation: Operation,
): Promise<Rounds[]> {
  const { cores, options } = context
  const bun = options.isBun ? findBun() : undefined
  const servers: Server[] = []
  const candidates: Candidate[] = []
  try {
    for (const [index, checkout] of checkouts.entries()) {
      const name = index === 0 ? 'this checkout' : 'the other'
      const server = await startService(cores, checkout, { name, bun })
      servers.push(server)
      const request = requestsWith(readKey(await seededDatabase(checkout)))[operation]
      candidates.push({ name, servers: [server], request })
    }
    return await measureRounds(context, operation, candidates)
  } finally {
    await stopAll(servers)
  }
}

function formatLine(operation: Operation, ours: Rounds, theirs: Rounds): string {
  const cpuMicroseconds = (rounds: Rounds) =>
    `${(1e6 / medianOf(rounds, (round) => round.requestsPerCpuSecond)).toFixed(1)} µs`
  const memory = (rounds: Rounds) => `${medianOf(rounds, (round) => round.residentMb).toFixed(0)} MB`
  const { value, min, max } = spreadOf(
    ours.map(
      (round, index) => (theirs[index]?.requestsPerCpuSecond ?? Number.NaN) / round.requestsPerCpuSecond,
    ),
  )
  const ratio = `**${value.toFixed(3)}**${isDisturbed(ours) || isDisturbed(theirs) ? ' (disturbed)' : ''}`
  const cells = [
    operation,
    cpuMicroseconds(ours),
    cpuMicroseconds(theirs),
    ratio,
    `${min.toFixed(3)} to ${max.toFixed(3)}`,
    memory(ours),
    memory(theirs),
  ]
  return `| ${cells.join(' | ')} |`
}
