import type { Bench } from './bench.ts'
import type { Figure } from './figures.ts'
import { bun } from './rows/bun.ts'
import { latency } from './rows/latency.ts'
import { scale } from './rows/scale.ts'
import { start } from './rows/start.ts'
import { throughput } from './rows/throughput.ts'

/** What measures which rows, in the order in which they run. */
export const runners: readonly { rows: readonly number[]; run(bench: Bench): Promise<Figure[]> }[] = [
  { rows: [1, 3, 4, 9, 10], run: throughput },
  { rows: [2, 10], run: bun },
  { rows: [5, 6], run: latency },
  { rows: [7], run: scale },
  // Loaded only when it is wanted, as what it starts PostgreSQL with belongs to the tests.
  { rows: [8], run: async (bench) => (await import('./rows/postgres.ts')).postgres(bench) },
  { rows: [11], run: start },
  { rows: [13], run: async (bench) => (await import('./rows/streams.ts')).streaming(bench) },
]
