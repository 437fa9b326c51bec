import type { Measurement } from '../measure/context.ts'
import { rows } from '../targets.ts'
import { adoptionPage } from './adoptionPage.ts'
import { importSpeed } from './import.ts'
import { indexCost } from './indexCost.ts'
import { readLatency } from './readLatency.ts'
import { scale } from './scale.ts'
import { startUp } from './startUp.ts'
import { throughputOnBun, throughputOnNode } from './throughput.ts'

/** All measurements, in the order in which they run. PostgreSQL and its driver are loaded only if they are used. */
export const measurements: readonly Measurement[] = [
  throughputOnNode,
  throughputOnBun,
  indexCost,
  readLatency,
  scale,
  {
    rows: [rows.listPostgres, rows.listPostgresThree],
    run: async (context) => (await import('./postgres.ts')).listOnPostgres.run(context),
  },
  startUp,
  {
    rows: [
      rows.createPostgresFar,
      rows.createPostgres,
      rows.changePostgresThree,
      rows.createPostgresThree,
      rows.eventDelayPostgres,
      rows.createPostgresSnapshot,
    ],
    run: async (context) => (await import('./postgresWrites.ts')).writesOnPostgres.run(context),
  },
  {
    rows: [rows.eventStreams, rows.eventStreamsPostgres],
    run: async (context) => (await import('./eventStreams.ts')).eventStreams.run(context),
  },
  importSpeed,
  {
    rows: [
      ...[rows.listings, rows.listingsWorst, rows.listingsPostgres, rows.listingsPostgresWorst],
      ...[rows.largeListings, rows.largeListingsWorst],
      ...[rows.largeListingsPostgres, rows.largeListingsPostgresWorst],
    ],
    run: async (context) => (await import('./listings.ts')).listings.run(context),
  },
  {
    rows: [rows.photo, rows.photoUploads],
    run: async (context) => (await import('./photos.ts')).photos.run(context),
  },
  adoptionPage,
  {
    rows: [rows.madeUpKeysPostgres],
    run: async (context) => (await import('./invalidKeys.ts')).invalidKeys.run(context),
  },
]
