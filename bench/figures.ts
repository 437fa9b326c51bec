import type { Spread } from './statistics.ts'

/** The rows of the table: what is measured, against what, and what must and should be reached. */
export type Row = {
  readonly id: string
  readonly what: string
  readonly against: string
  /** A ratio where more is better, a factor where less is better, or an absolute figure where less is better. */
  readonly kind: 'ratio' | 'factor' | 'MB' | 'ms'
  readonly must?: number
  readonly aim?: number
  /** Left out of --check, with the reason. */
  readonly notChecked?: string
  /** A quick run is too short to tell. */
  readonly isForLongRuns?: boolean
}

const absolute = 'absolute: it says as much about the machine as about the service'

export const rows = {
  list: {
    id: '1',
    what: 'list 20 animals by status, embedded',
    against: 'bare `node:http`, the same bytes',
    kind: 'ratio',
    must: 0.7,
    aim: 0.85,
  },
  listBun: {
    id: '2',
    what: 'the same on Bun',
    against: 'bare `Bun.serve`, the same bytes',
    kind: 'ratio',
    must: 0.55,
    aim: 0.7,
  },
  read: {
    id: '3',
    what: 'read one animal of 100,000',
    against: 'bare `node:http`, the same bytes',
    kind: 'ratio',
    must: 0.65,
    aim: 0.8,
    isForLongRuns: true,
  },
  create: {
    id: '4',
    what: 'create durably, 64 callers',
    against: 'the afternoon version (Express), `synchronous=FULL`',
    kind: 'ratio',
    must: 4,
    aim: 8,
  },
  calm: {
    id: '5b',
    what: 'the same at 250 a second, which a calm server answers at once',
    against: 'its own calm p99',
    kind: 'factor',
    notChecked: 'a 99th percentile of short rounds is noise on a shared machine',
  },
  calmFull: {
    id: '5a',
    what: 'list p99 on 64 connections, while 64 callers create',
    against: 'its own p99 without them',
    kind: 'factor',
    must: 3,
    aim: 1.5,
    isForLongRuns: true,
    notChecked: 'a 99th percentile of short rounds is noise on a shared machine',
  },
  slowDisk: {
    id: '6',
    what: 'list p99 while 64 callers create, every fsync 5 ms slower',
    against: 'itself without',
    kind: 'factor',
    must: 3,
    aim: 1.5,
    isForLongRuns: true,
    notChecked: 'a 99th percentile of short rounds is noise on a shared machine',
  },
  scale: {
    id: '7',
    what: 'any page, any filter, of 10,000,000 animals',
    against: 'the first page of 10,000, same filter',
    kind: 'factor',
    must: 1.2,
    aim: 1.05,
    isForLongRuns: true,
  },
  postgres: {
    id: '8a',
    what: 'list on PostgreSQL, one instance',
    against: 'a bare `pg` query over `node:http`, no key, no limit',
    kind: 'ratio',
    must: 0.55,
    aim: 0.75,
  },
  postgresThree: {
    id: '8b',
    what: 'the same, three instances',
    against: 'three such bare servers',
    kind: 'ratio',
  },
  listPeers: {
    id: '9a',
    what: 'list',
    against: 'the fastest peer',
    kind: 'ratio',
    must: 1,
    aim: 3,
  },
  readPeers: {
    id: '9b',
    what: 'read',
    against: 'the fastest peer',
    kind: 'ratio',
    must: 1,
    aim: 3,
  },
  createPeers: {
    id: '9c',
    what: 'create',
    against: 'the fastest peer',
    kind: 'ratio',
    must: 1,
    aim: 3,
  },
  memory: {
    id: '10a',
    what: 'memory under load (list, read and create), Node',
    against: '',
    kind: 'MB',
    must: 160,
    aim: 110,
    notChecked: absolute,
  },
  memoryBun: {
    id: '10b',
    what: 'memory under load (list), Bun',
    against: '',
    kind: 'MB',
    must: 90,
    aim: 60,
    notChecked: absolute,
  },
  memoryBunCreate: {
    id: '10c',
    what: 'the same while 64 callers create',
    against: '',
    kind: 'MB',
    notChecked: absolute,
  },
  startHealth: {
    id: '11a',
    what: 'start to the first 200 of `/healthz`',
    against: '',
    kind: 'ms',
    must: 600,
    aim: 300,
    notChecked: absolute,
  },
  startList: {
    id: '11b',
    what: 'start to the first 200 of `GET /v1/pets`',
    against: '',
    kind: 'ms',
    must: 600,
    aim: 300,
    notChecked: absolute,
  },
  streams: {
    id: '13a',
    what: 'processor time of a create at 200 a second, with 1,000 event streams open',
    against: 'the same without streams',
    kind: 'factor',
    must: 2,
    aim: 1.3,
  },
  streamsPostgres: {
    id: '13b',
    what: 'the same on PostgreSQL',
    against: 'the same without streams',
    kind: 'factor',
    must: 2,
    aim: 1.3,
  },
} as const satisfies Record<string, Row>

/** What was found for a row, or why nothing could be. */
export type Figure = {
  readonly row: Row
  readonly found?: Spread
  /** The same ratio by the server's processor time, which does not depend on what else the machine does. */
  readonly byCpu?: number
  /** The load generator was the limit, or other programs were on the server's core. */
  readonly isLoadBound?: boolean
  readonly isDisturbed?: boolean
  /** What the figure is made of: rates, times, shares. */
  readonly detail: string
  readonly problem?: string
}

export const isMoreBetter = (row: Row) => row.kind === 'ratio'

export function reaches(row: Row, value: number, bound: number | undefined): boolean | undefined {
  if (bound === undefined) return undefined
  return isMoreBetter(row) ? value >= bound : value <= bound
}

/** A row that could not be run stays in the table and says why. */
export const notRun = (row: Row, error: unknown): Figure => ({
  row,
  detail: '',
  problem: error instanceof Error ? error.message : String(error),
})

/** 9a is part of row 9, */
export const numberOf = ({ id }: Row) => Number.parseInt(id, 10)

/** and stands behind 8b and before 10a. */
export const order = (row: Row) => numberOf(row) * 1_000 + row.id.charCodeAt(row.id.length - 1)
