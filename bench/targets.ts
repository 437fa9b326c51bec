import { listingRows } from './listingTargets.ts'

/** The rows of the table: what is measured, against what, and the figures to reach. */
export type Row = {
  readonly id: string
  readonly what: string
  readonly against: string
  /** More is better for a ratio and a rate per second; less is better for a factor, memory and time. */
  readonly kind: 'ratio' | 'factor' | 'MB' | 'ms' | 'perSecond'
  /** A release must reach it. */
  readonly must?: number
  /** The goal. */
  readonly aim?: number
  /** Excluded from --check: the value depends on the machine, or is noisy in short rounds. */
  readonly isUnchecked?: boolean
  /** A quick run is too short to judge it. */
  readonly needsFullRun?: boolean
  /** Left out of a quick run. */
  readonly isFullRunOnly?: boolean
  /** Only with --large. */
  readonly isLargeRunOnly?: boolean
}

/** On arm64 rows 1 to 4 must reach three quarters of the value for x64. */
const mustByArch = (x64: number) => (process.arch === 'arm64' ? x64 * 0.75 : x64)

const bareNode = { against: 'bare `node:http`, same response', kind: 'ratio' } as const
const fastestPeer = 'the fastest peer on Node'
const ahead = { kind: 'ratio', must: 1, aim: 3 } as const
const latency = { kind: 'factor', must: 3, aim: 1.5, isUnchecked: true, needsFullRun: true } as const
const startUp = { against: '', kind: 'ms', must: 600, aim: 300, isUnchecked: true } as const
const memory = { against: '', kind: 'MB', isUnchecked: true } as const
const bareInsert = 'a bare `pg` insert over `node:http`, same distance'
const oneInstance = { against: 'one instance', kind: 'ratio' } as const
const streams = { against: 'the same without streams', kind: 'factor', must: 2, aim: 1.3 } as const

export const rows = {
  list: {
    id: '1',
    what: 'list 20 pets by status, SQLite',
    ...bareNode,
    must: mustByArch(0.7),
    aim: 0.9,
  },
  listBun: {
    id: '2',
    what: 'the same on Bun',
    against: 'bare `Bun.serve`, same response',
    kind: 'ratio',
    must: mustByArch(0.55),
    aim: 0.75,
  },
  read: {
    id: '3',
    what: 'read one pet of 100,000',
    ...bareNode,
    must: mustByArch(0.6),
    aim: 0.8,
    needsFullRun: true,
  },
  create: {
    id: '4a',
    what: 'create one pet, durable, 64 callers',
    against: 'Express, `synchronous=FULL`',
    kind: 'ratio',
    must: mustByArch(4),
    aim: 8,
  },
  createIndexed: {
    id: '4b',
    what: 'the same while the search index follows',
    against: 'the same without updates of the index',
    kind: 'ratio',
    must: 0.9,
    aim: 0.95,
    isUnchecked: true,
  },
  listDuringCreates: {
    ...latency,
    id: '5a',
    what: 'list p99, 64 connections, while 64 callers create',
    against: 'its p99 without creates',
  },
  /** No target: an idle server responds immediately, so small delays are a large factor. */
  listDuringCreatesFixedRate: {
    id: '5b',
    what: 'list p99 at 250 requests per second, while 64 callers create',
    against: 'its p99 without creates',
    kind: 'factor',
    isUnchecked: true,
  },
  listDuringUploads: {
    ...latency,
    id: '5c',
    what: 'list p99, 64 connections, while 50 photos at a time are uploaded',
    against: 'its p99 without uploads',
    must: 2,
  },
  listDuringImport: {
    ...latency,
    id: '5d',
    what: 'list p99, 64 connections, while a file is imported over HTTP',
    against: 'its p99 without an import',
  },
  listOnSlowDisk: {
    ...latency,
    id: '6',
    what: 'row 5a with each fsync delayed by 5 ms',
    against: 'row 5a without the delay',
  },
  scale: {
    id: '7',
    what: 'any page, any filter, of 10,000,000 pets',
    against: 'the first page of 10,000, same filter',
    kind: 'factor',
    must: 1.2,
    aim: 1.05,
    needsFullRun: true,
  },
  listPostgres: {
    id: '8a',
    what: 'list on PostgreSQL, one instance',
    against: 'a bare `pg` query over `node:http`, no key, no rate limit',
    kind: 'ratio',
    must: 1,
    aim: 2,
  },
  listPostgresThree: {
    id: '8b',
    what: 'the same, three instances',
    against: 'three such servers',
    kind: 'ratio',
    isFullRunOnly: true,
  },
  listPeers: { ...ahead, id: '9a', what: 'list', against: fastestPeer },
  readPeers: { ...ahead, id: '9b', what: 'read', against: fastestPeer, needsFullRun: true },
  createPeers: { ...ahead, id: '9c', what: 'create', against: fastestPeer },
  listPeersBun: { ...ahead, id: '9d', what: 'list on Bun', against: 'Hono on Bun' },
  readPeersBun: { ...ahead, id: '9e', what: 'read on Bun', against: 'Hono on Bun', needsFullRun: true },
  createPeersBun: { ...ahead, id: '9f', what: 'create on Bun', against: 'Hono on Bun' },
  memory: {
    ...memory,
    id: '10a',
    what: 'memory (RSS) under list, read and create, Node',
    must: 160,
    aim: 130,
  },
  memoryBun: { ...memory, id: '10b', what: 'memory (RSS) under list, Bun', must: 90, aim: 70 },
  memoryBunCreate: { ...memory, id: '10c', what: 'memory (RSS) while 64 callers create, Bun' },
  startHealth: { ...startUp, id: '11a', what: 'start to the first 200 of `/healthz`' },
  startList: { ...startUp, id: '11b', what: 'start to the first 200 of `GET /v1/pets`' },
  createPostgresFar: {
    id: '12a',
    what: 'create on PostgreSQL 4 ms away, 64 callers',
    against: bareInsert,
    kind: 'ratio',
    must: 1.5,
    aim: 3,
  },
  createPostgres: {
    id: '12b',
    what: 'the same with PostgreSQL on the same machine',
    against: bareInsert,
    kind: 'ratio',
    must: 0.8,
    aim: 1.5,
  },
  changePostgresThree: {
    ...oneInstance,
    id: '12c',
    what: 'change different pets, PostgreSQL 4 ms away, three instances',
    must: 2,
    aim: 2.8,
  },
  createPostgresThree: {
    ...oneInstance,
    id: '12d',
    what: 'create, PostgreSQL on the same machine, three instances on the same core',
    must: 0.9,
    aim: 1,
  },
  changePostgresThreeIdle: {
    ...oneInstance,
    id: '12g',
    what: 'row 12c with 4 callers of each instance',
    isUnchecked: true,
    isFullRunOnly: true,
  },
  eventDelayPostgres: {
    id: '12e',
    what: "until an event is on another instance's event stream, PostgreSQL 4 ms away",
    against: '',
    kind: 'ms',
    isUnchecked: true,
  },
  createPostgresSnapshot: {
    id: '12f',
    what: 'create while a snapshot is held open, PostgreSQL on the same machine',
    against: 'the same without a snapshot',
    kind: 'ratio',
    isUnchecked: true,
    isFullRunOnly: true,
  },
  eventStreams: {
    ...streams,
    id: '13a',
    what: 'CPU time of a create at 200 per second with 1,000 event streams',
  },
  eventStreamsPostgres: { ...streams, id: '13b', what: 'the same on PostgreSQL', isFullRunOnly: true },
  import: {
    id: '14',
    what: 'import into an empty database, pets per second',
    against: '',
    kind: 'perSecond',
    must: 100_000,
    aim: 200_000,
    isUnchecked: true,
    needsFullRun: true,
  },
  ...listingRows,
  madeUpKeysPostgres: {
    ...latency,
    id: '20',
    what: 'list p50 while 1,900 connections send made-up keys, PostgreSQL',
    against: 'the same with malformed keys',
  },
} as const satisfies Record<string, Row>

export const allRows: readonly Row[] = Object.values(rows)

/** 9a is a part of row 9. */
export const numberOf = ({ id }: Row) => Number.parseInt(id, 10)

export const rowNumbers: readonly number[] = [...new Set(allRows.map(numberOf))]

export const isMoreBetter = ({ kind }: Row) => kind === 'ratio' || kind === 'perSecond'

export const reaches = (row: Row, value: number, bound: number) =>
  isMoreBetter(row) ? value >= bound : value <= bound
