/** Rows 15, 16, 19b and 19c: pages of listings by their filters, and adoption pages, against the page of pets by status. */
import { listingCursor } from '../../src/listings/schemas.ts'
import { absentWord, breedName, separateWords, wordOfRank } from '../data/animals.ts'
import { createKey } from '../data/checkout.ts'
import { copyDir, readKey } from '../data/databases.ts'
import { fillListings, listingDatabase } from '../data/listingDatabase.ts'
import { type Env, stopAll } from '../host/processes.ts'
import { otherCpuShareMax, watchOtherProcesses } from '../host/usage.ts'
import { Connection, serializeRequest } from '../load/client.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { createDatabase, startDurablePostgres } from '../servers/postgres.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { median, percentile, spreadOf } from '../statistics.ts'
import { type Row, rows } from '../targets.ts'
import {
  adoptionPaths,
  isPage,
  pageBytesMax,
  trustedProxy,
  turnOnAdoptionPage,
  visitorHeaders,
} from './adoptionPaths.ts'

const quickCount = 5_000
const samplesPerRound = 20
const quickSamples = 5
const warmUpRounds = 2
/** Other processes affect it less than the median. */
const quartile = 0.25

type Pair = { readonly median: Row; readonly worst: Row; readonly adoptionPages?: Row }
type Size = { readonly count: number; readonly sqlite: Pair; readonly postgres: Pair }

const sizes: readonly Size[] = [
  {
    count: 100_000,
    sqlite: { median: rows.listings, worst: rows.listingsWorst, adoptionPages: rows.adoptionPages },
    postgres: {
      median: rows.listingsPostgres,
      worst: rows.listingsPostgresWorst,
      adoptionPages: rows.adoptionPagesPostgres,
    },
  },
  {
    count: 1_000_000,
    sqlite: { median: rows.largeListings, worst: rows.largeListingsWorst },
    postgres: { median: rows.largeListingsPostgres, worst: rows.largeListingsPostgresWorst },
  },
]

const rowsOfPair = ({ median, worst, adoptionPages }: Pair) => [
  ...[median, worst],
  ...(adoptionPages ? [adoptionPages] : []),
]
const rowsOf = ({ sqlite, postgres }: Size) => [sqlite, postgres].flatMap(rowsOfPair)

export const listings: Measurement = {
  rows: sizes.flatMap(rowsOf),
  async run(context) {
    const selected = sizes.filter((size) => rowsOf(size).some((row) => isSelected(context, row)))
    const postgres = await startDurablePostgres(context.cores)
    try {
      const results: Result[] = []
      for (const size of selected) {
        const count = context.options.isQuick ? quickCount : size.count
        const fail = (pair: Pair) => (error: unknown) =>
          rowsOfPair(pair).map((row) => failedResult(row, error))
        const url = () => createDatabase(postgres.adminUrl, `listings_${size.count}`)
        results.push(...(await onSqlite(context, size.sqlite, count).catch(fail(size.sqlite))))
        results.push(...(await onPostgres(context, size.postgres, count, url).catch(fail(size.postgres))))
      }
      return results
    } finally {
      await postgres.stop()
    }
  },
}

async function onSqlite(context: BenchContext, pair: Pair, count: number): Promise<Result[]> {
  context.progress(`listings: ${count.toLocaleString('en')} pets on SQLite, built on the first run`)
  const dataDir = copyDir(await listingDatabase(context.checkout, count))
  return measureEngine(context, pair, count, { PETSTORE_DATA_DIR: dataDir }, readKey(dataDir))
}

async function onPostgres(
  context: BenchContext,
  pair: Pair,
  count: number,
  createUrl: () => Promise<string>,
): Promise<Result[]> {
  context.progress(`listings: filling ${count.toLocaleString('en')} pets on PostgreSQL`)
  const env = { DATABASE_URL: await createUrl() }
  return measureEngine(context, pair, count, env, await fillListings(context.checkout, env, count))
}

type Case = {
  readonly name: string
  /** Each call returns another path, so that no response comes from the cache. */
  readonly nextPath: () => string
  readonly timesMs: number[]
  readonly ratios: number[]
}

const toCase = ([name, nextPath]: readonly [name: string, nextPath: () => string]): Case => ({
  ...{ name, nextPath },
  ...{ timesMs: [], ratios: [] },
})

async function measureEngine(
  context: BenchContext,
  pair: Pair,
  count: number,
  env: Env,
  key: string,
): Promise<Result[]> {
  const { cores, checkout, options, progress } = context
  const managerKey = await createKey(checkout, env, '--scope', 'keys:manage')
  const service = await startService(cores, checkout, { dataDir: '', env: { ...env, ...trustedProxy } })
  const otherCpuShare = watchOtherProcesses(cores.server, [service.pid])
  try {
    const reader = await Reader.open(service.port, key)
    await turnOnAdoptionPage(service.port, managerKey)
    const cases = casesFor(count)
    const pages = pair.adoptionPages ? adoptionPaths(count).map(toCase) : []
    for (let round = -warmUpRounds; round < options.rounds; round++) {
      const samples = options.isQuick ? quickSamples : samplesPerRound
      for (const one of [...cases, ...pages]) await measureCase(reader, one, samples, round >= 0)
      progress(
        `listings: ${pair.median.id}, ${round < 0 ? 'warming up' : `round ${round + 1} of ${options.rounds}`}`,
      )
    }
    reader.close()
    const isDisturbed = otherCpuShare() > otherCpuShareMax
    const results = resultsOf(pair, count, cases)
    if (pair.adoptionPages) results.push(worstOf(pair.adoptionPages, pages))
    return results.map((result) => ({ ...result, isDisturbed }))
  } finally {
    await stopAll([service])
  }
}

class Reader {
  readonly #connection: Connection
  readonly #headers: Readonly<Record<string, string>>
  readonly #pets: string
  #sent = 0

  private constructor(connection: Connection, key: string) {
    const { headers, path } = requestsWith(key).list
    this.#connection = connection
    this.#headers = headers
    this.#pets = path
  }

  static open = async (port: number, key: string) => new Reader(await Connection.open(port), key)

  readPets = () => this.read(`${this.#pets}&unique=${this.#sent}`)

  /** Returns the time that the response took. */
  async read(path: string): Promise<number> {
    const headers = { ...this.#headers, ...visitorHeaders(++this.#sent) }
    const request = serializeRequest('GET', path, headers)
    const startedAt = performance.now()
    const { status, body } = await this.#connection.send(request)
    const tookMs = performance.now() - startedAt
    if (status !== 200) throw new Error(`${path}: status ${status}.\n${body}`)
    if (isPage(path) && body.length > pageBytesMax) throw new Error(`${path} has ${body.length} bytes.`)
    return tookMs
  }

  close = () => this.#connection.close()
}

/** Alternates between both requests, so disturbances affect both alike. */
async function measureCase(reader: Reader, one: Case, samples: number, isCounted: boolean): Promise<void> {
  const petsMs: number[] = []
  const timesMs: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    petsMs.push(await reader.readPets())
    timesMs.push(await reader.read(one.nextPath()))
  }
  if (!isCounted) return
  const timeMs = percentile(timesMs, quartile)
  one.timesMs.push(timeMs)
  one.ratios.push(timeMs / percentile(petsMs, quartile))
}

/** Every filter of a page in the middle ends with the cursor, which contains the filters of the first page. */
function casesFor(count: number): Case[] {
  const breed = encodeURIComponent(breedName('dog', 1))
  const fiveFacets = 'species=dog&sex=female&size=medium&ageGroup=adult&goodWith=cats'
  const deepCursor = listingCursor.encode(Math.floor(count / 10), { species: 'cat', sex: 'male' })
  const queries = {
    'no filter': 'limit=20',
    'one facet': 'species=cat',
    'two facets': 'species=cat&sex=male',
    'three facets': 'species=dog&sex=male&size=small',
    'four facets': 'species=dog&sex=female&size=medium&ageGroup=adult',
    'five facets': fiveFacets,
    breed: `breed=${breed}`,
    'rare facets': 'species=horse&specialNeeds=true&goodWith=children&goodWith=cats',
    'all sold': 'status=sold&species=dog',
    'a common word': `q=${wordOfRank(5)}`,
    'a rare word': `q=${wordOfRank(4_900)}`,
    'facets and a word': `species=dog&sex=female&q=${wordOfRank(60)}`,
    'three words': `q=${[3, 30, 300].map(wordOfRank).join('+')}`,
    'an absent word': `q=${absentWord}`,
    'facets and an absent word': `${fiveFacets}&q=${absentWord}`,
    'a prefix': `q=${wordOfRank(600).slice(0, 4)}`,
    'terms that never meet': `sex=female&q=${separateWords[0]}`,
    'a deep page': `cursor=${deepCursor}`,
  }
  let sent = 0
  return Object.entries(queries).map(([name, query]) =>
    toCase([name, () => `/v1/listings?${query}&unique=${++sent}`]),
  )
}

const describe = ({ name, timesMs, ratios }: Case) =>
  `${name} ${median(timesMs).toFixed(1)} ms (${median(ratios).toFixed(1)}x)`

const slowestFirst = (cases: readonly Case[]) => cases.toSorted((a, b) => median(b.ratios) - median(a.ratios))

function resultsOf(pair: Pair, count: number, cases: readonly Case[]): Result[] {
  const { detail, ...worst } = worstOf(pair.worst, cases)
  const rounds = cases[0]?.ratios ?? []
  const medians = rounds.map((_, round) => median(cases.map(({ ratios }) => ratios[round] as number)))
  return [
    {
      row: pair.median,
      measured: spreadOf(medians),
      detail: `${count.toLocaleString('en')} pets: ${detail}`,
    },
    { ...worst, detail: describe(slowestFirst(cases)[0] as Case) },
  ]
}

function worstOf(row: Row, cases: readonly Case[]): Result {
  const all = slowestFirst(cases)
  const [worst] = all
  if (!worst) throw new Error('There are no queries.')
  return { row, measured: spreadOf(worst.ratios), detail: all.map(describe).join(', ') }
}
