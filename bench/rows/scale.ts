/** Row 7: the cost of a page does not depend on its position, the filter or the number of pets. */
import type { PetFilter } from '../../src/pets/queries.ts'

import { petCursor } from '../../src/pets/schemas.ts'
import { copyDir, readKey } from '../data/databases.ts'
import { rareCategoryId, rarePetInterval, scaleDatabase } from '../data/scaleDatabase.ts'
import { type Server, stopAll } from '../host/processes.ts'
import { otherCpuShareMax, watchOtherProcesses } from '../host/usage.ts'
import { Connection, serializeRequest } from '../load/client.ts'
import type { BenchContext, Measurement } from '../measure/context.ts'
import type { Result } from '../measure/result.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { median, percentile, seededRandom, spreadOf } from '../statistics.ts'
import { rows } from '../targets.ts'

type PageFilter = Omit<PetFilter, 'id'>

const smallCount = 10_000
const largeCount = 10_000_000
const quickLargeCount = 300_000
const pageSize = 20
const seed = 7
/** The lower quartile is less affected by other processes than the median. */
const quartile = 0.25
const warmUpRounds = 2

type Case = {
  readonly name: string
  /** The query of a page in the large database, different each time. */
  largeQuery(): string
  /** The query of the first page in the small database, with the same filter. */
  smallQuery(): string
  readonly ratios: number[]
}

/** A service with its database and an open connection. */
type Instance = {
  readonly server: Server
  readonly connection: Connection
  readonly create: string
  readonly headers: Readonly<Record<string, string>>
}

export const scale: Measurement = {
  rows: [rows.scale],
  async run(context) {
    const { options, cores, checkout, progress } = context
    const count = options.isQuick ? quickLargeCount : largeCount
    progress(`scale: ${count.toLocaleString('en')} pets, built on the first run`)
    // Before the instances start: an idle connection does not stay open for as long as the build takes.
    const dataDirs: string[] = []
    for (const size of [smallCount, count]) dataDirs.push(copyDir(await scaleDatabase(checkout, size)))
    const instances: Instance[] = []
    try {
      for (const dataDir of dataDirs) instances.push(await startInstance(context, dataDir))
      const pids = instances.map(({ server }) => server.pid)
      const otherCpuShare = watchOtherProcesses(cores.server, pids)
      const cases = await measureCases(context, instances as [Instance, Instance], casesFor(count))
      return [{ ...resultOf(count, cases), isDisturbed: otherCpuShare() > otherCpuShareMax }]
    } finally {
      for (const { connection } of instances) connection.close()
      await stopAll(instances.map(({ server }) => server))
    }
  },
}

async function startInstance({ cores, checkout }: BenchContext, dataDir: string): Promise<Instance> {
  const server = await startService(cores, checkout, { dataDir })
  const { list, create } = requestsWith(readKey(dataDir))
  return {
    server,
    connection: await Connection.open(server.port),
    create: serializeRequest('POST', create.path, create.headers, create.body),
    headers: list.headers,
  }
}

async function measureCases(
  { options, progress }: BenchContext,
  [small, large]: [Instance, Instance],
  cases: readonly Case[],
): Promise<readonly Case[]> {
  const samples = options.isQuick ? 12 : 100
  for (let round = -warmUpRounds; round < options.rounds; round++) {
    for (const one of cases) {
      const ratio = await measureRatio(small, large, one, samples)
      if (round >= 0) one.ratios.push(ratio)
    }
    progress(round < 0 ? 'scale: warming up' : `scale: round ${round + 1} of ${options.rounds}`)
  }
  return cases
}

/** The row has the worst case. */
function resultOf(count: number, cases: readonly Case[]): Result {
  const worstFirst = cases.toSorted((a, b) => median(b.ratios) - median(a.ratios))
  const [worst] = worstFirst
  if (!worst) throw new Error('There are no cases.')
  const values = worstFirst.map(({ name, ratios }) => `${name} ${median(ratios).toFixed(2)}`)
  return {
    row: { ...rows.scale, what: rows.scale.what.replace('10,000,000', count.toLocaleString('en')) },
    measured: spreadOf(worst.ratios),
    detail: `worst of ${cases.length}: ${values.slice(0, 4).join(', ')}; best: ${values.at(-1)}`,
  }
}

/** Alternates between the databases, so disturbances affect both alike. */
async function measureRatio(small: Instance, large: Instance, one: Case, samples: number): Promise<number> {
  const smallMs: number[] = []
  const largeMs: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    smallMs.push(await measurePage(small, one.smallQuery()))
    largeMs.push(await measurePage(large, one.largeQuery()))
  }
  return percentile(largeMs, quartile) / percentile(smallMs, quartile)
}

/** Times one page right after a write, which invalidates all cached pages. */
async function measurePage({ connection, create, headers }: Instance, query: string): Promise<number> {
  const created = await connection.send(create)
  if (created.status !== 201) throw new Error(`A create returned ${created.status}.`)
  const request = serializeRequest('GET', `/v1/pets?${query}`, headers)
  const startedAt = performance.now()
  const { status, body } = await connection.send(request)
  const tookMs = performance.now() - startedAt
  const pets = JSON.parse(body.toString())
  if (status !== 200 || pets.length !== pageSize)
    throw new Error(`${query}: status ${status}, ${pets.length} pets, expected ${pageSize}.`)
  return tookMs
}

function casesFor(count: number): Case[] {
  const random = seededRandom(seed)
  const randomId = (min: number, max: number) => min + Math.floor(random() * (max - min))
  const filters: [string, PageFilter][] = [
    ['no filter', {}],
    ['available', { status: 'available' }],
    ['sold', { status: 'sold' }],
    ['category', { categoryId: 3n }],
    ['category and status', { categoryId: 3n, status: 'pending' }],
    ['rare category', { categoryId: BigInt(rareCategoryId) }],
    ['rare category and status', { categoryId: BigInt(rareCategoryId), status: 'available' }],
  ]
  const cases: Case[] = []
  for (const [name, filter] of filters) {
    const first = queryOf(filter)
    const pageAfter = (belowId: number) => `${first}&cursor=${petCursor.encode(belowId, filter)}`
    // A full page must remain after it, also with a rare category.
    const lowest =
      filter.categoryId === BigInt(rareCategoryId) ? rarePetInterval(count) * (pageSize + 1) : 2_000
    const add = (position: string, largeQuery: () => string) =>
      cases.push({ name: `${name}, ${position}`, largeQuery, smallQuery: () => first, ratios: [] })
    add('first page', () => first)
    add('random page', () => pageAfter(randomId(lowest, count)))
    add('near the end', () => pageAfter(randomId(lowest, lowest * 2)))
  }
  const ids = (max: number) => {
    const chosen = new Set<number>()
    while (chosen.size < pageSize) chosen.add(randomId(1, max))
    return [...chosen].map((id) => `id=${id}`).join('&')
  }
  cases.push({ name: 'by ids', largeQuery: () => ids(count), smallQuery: () => ids(smallCount), ratios: [] })
  return cases
}

function queryOf({ status, categoryId }: PageFilter): string {
  return new URLSearchParams({
    limit: String(pageSize),
    ...(status !== undefined && { status }),
    ...(categoryId !== undefined && { categoryId: String(categoryId) }),
  }).toString()
}
