/** Row 7: a page costs the same wherever it begins, whatever is filtered by, and however many animals there are. */
import type { PetFilter } from '../../src/pets/queries.ts'
import { petCursor } from '../../src/pets/schemas.ts'
import type { Bench } from '../bench.ts'
import { type Figure, rows } from '../figures.ts'
import { Connection, requestText } from '../load/client.ts'
import { othersMax, watchOthers } from '../machine.ts'
import type { Server } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { rareCategory, rareEvery, scaleStore } from '../scaleStore.ts'
import { startService } from '../servers.ts'
import { median, percentile, seededRandom, spreadOf } from '../statistics.ts'
import { copyOf, keyIn } from '../stores.ts'

const smallCount = 10_000
const bigCount = 10_000_000
const bigQuickCount = 300_000
const pageSize = 20
const seed = 7
/** What a page costs when nothing comes in between; the median would have more of the machine in it. */
const quartile = 0.25

type Case = {
  readonly name: string
  /** The query of a page of the big store, another one each time. */
  big(): string
  /** The query of the first page of the small store, under the same filter. */
  readonly small: () => string
  readonly ratios: number[]
}

/** A store with a server on it, and what is needed to ask it. */
type Store = {
  readonly server: Server
  readonly connection: Connection
  readonly create: string
  readonly headers: Readonly<Record<string, string>>
}

export async function scale(bench: Bench): Promise<Figure[]> {
  const { options, cores, progress } = bench
  const count = options.isQuick ? bigQuickCount : bigCount
  progress(`scale: ${count.toLocaleString('en')} animals, which are built the first time`)
  const opened: Store[] = []
  const open = async (folder: string, size: number) => {
    const server = await startService(cores, { name: `petstore with ${size}`, folder })
    const { list, create } = requestsWith(keyIn(folder))
    const store: Store = {
      server,
      connection: await Connection.open(server.port),
      create: requestText('POST', create.path, create.headers, create.body),
      headers: list.headers,
    }
    opened.push(store)
    return store
  }
  try {
    // First: a connection on which nothing is asked for is not kept open for as long as building takes.
    const folders = [copyOf(await scaleStore(smallCount)), copyOf(await scaleStore(count))] as const
    const small = await open(folders[0], smallCount)
    const big = await open(folders[1], count)
    const cases = casesFor(count)
    const samples = options.isQuick ? 12 : 100
    const others = watchOthers(
      cores.server,
      opened.map(({ server }) => server.pid),
    )
    // Two turns before anything counts: both programs warm, and the file in the system's memory.
    for (let turn = -2; turn < options.rounds; turn++) {
      for (const one of cases) {
        const ratio = await compareCase(small, big, one, samples)
        if (turn >= 0) one.ratios.push(ratio)
      }
      progress(turn < 0 ? 'scale: warming up' : `scale: round ${turn + 1} of ${options.rounds}`)
    }
    return [{ ...figureOf(count, cases), isDisturbed: others() > othersMax }]
  } finally {
    for (const { connection } of opened) connection.close()
    await Promise.all(opened.map(({ server }) => server.stop()))
  }
}

function figureOf(count: number, cases: readonly Case[]): Figure {
  const worstFirst = cases.toSorted((a, b) => median(b.ratios) - median(a.ratios))
  const [worst] = worstFirst
  if (!worst) throw new Error('There are no cases.')
  const shown = worstFirst.map(({ name, ratios }) => `${name} ${median(ratios).toFixed(2)}`)
  return {
    row: { ...rows.scale, what: rows.scale.what.replace('10,000,000', count.toLocaleString('en')) },
    found: spreadOf(worst.ratios),
    detail: `the worst of ${cases.length}: ${shown.slice(0, 4).join(', ')}; the best: ${shown.at(-1)}`,
  }
}

/** One store after the other, so that both meet the same machine. */
async function compareCase(small: Store, big: Store, one: Case, samples: number): Promise<number> {
  const times = { small: [] as number[], big: [] as number[] }
  for (let sample = 0; sample < samples; sample++) {
    times.small.push(await timeOf(small, one.small()))
    times.big.push(await timeOf(big, one.big()))
  }
  return percentile(times.big, quartile) / percentile(times.small, quartile)
}

/**
 * The time of one page, right after a write: whatever the service kept of earlier pages is then worth nothing, and both
 * stores are asked for a page that has to be made.
 */
async function timeOf({ connection, create, headers }: Store, query: string): Promise<number> {
  const created = await connection.send(create)
  if (created.status !== 201) throw new Error(`A create was answered ${created.status}.`)
  const request = requestText('GET', `/v1/pets?${query}`, headers)
  const started = performance.now()
  const { status, body } = await connection.send(request)
  const tookMs = performance.now() - started
  const found = JSON.parse(body.toString())
  if (status !== 200 || found.length !== pageSize)
    throw new Error(`${query}: status ${status}, ${found.length} animals in place of ${pageSize}.`)
  return tookMs
}

function casesFor(count: number): Case[] {
  const random = seededRandom(seed)
  const between = (min: number, max: number) => min + Math.floor(random() * (max - min))
  const filters: [string, PetFilter][] = [
    ['no filter', {}],
    ['available', { status: 'available' }],
    ['sold', { status: 'sold' }],
    ['category', { categoryId: 3n }],
    ['category and status', { categoryId: 3n, status: 'pending' }],
    ['rare category', { categoryId: BigInt(rareCategory) }],
    ['rare category and status', { categoryId: BigInt(rareCategory), status: 'available' }],
  ]
  const cases: Case[] = []
  for (const [name, filter] of filters) {
    const first = queryOf(filter)
    const after = (belowId: number) => `${first}&cursor=${petCursor.encode(belowId, filter)}`
    // Deep enough that a full page is left, also of those that are rare.
    const lowest = filter.categoryId === BigInt(rareCategory) ? rareEvery(count) * (pageSize + 1) : 2_000
    const add = (where: string, big: () => string) =>
      cases.push({ name: `${name}, ${where}`, big, small: () => first, ratios: [] })
    add('first page', () => first)
    add('any page', () => after(between(lowest, count)))
    add('near the end', () => after(between(lowest, lowest * 2)))
  }
  const ids = (max: number) => {
    const chosen = new Set<number>()
    while (chosen.size < pageSize) chosen.add(between(1, max))
    return [...chosen].map((id) => `id=${id}`).join('&')
  }
  cases.push({ name: 'by ids', big: () => ids(count), small: () => ids(smallCount), ratios: [] })
  return cases
}

function queryOf({ status, categoryId }: PetFilter): string {
  return new URLSearchParams({
    limit: String(pageSize),
    ...(status !== undefined && { status }),
    ...(categoryId !== undefined && { categoryId: String(categoryId) }),
  }).toString()
}
