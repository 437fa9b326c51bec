import { defaultReplicaLagMaxMs } from './database/open.ts'
import { defaultSyncMaxMs } from './database/sqlite/durability.ts'
import { defaultStreamBounds } from './events/stream.ts'
import { defaultImporterBounds } from './imports/http/importer.ts'
import { importFileBytesMax } from './imports/http/schemas.ts'
import { defaultDecoderBounds } from './photos/decoder.ts'
import { defaultJobBounds } from './schedule.ts'
import { attemptTimeoutMs } from './webhooks/webhook.ts'

export const defaultBounds = {
  ...defaultStreamBounds,
  ...defaultJobBounds,
  ...defaultDecoderBounds,
  ...defaultImporterBounds,
  /** Changes of this time are indexed together. */
  indexDelayMs: 100,
  /** How often the counts of usage are written. A crash loses those since then. */
  usageFlushMs: 10_000,
  usageReadFlushMs: 1_000,
  attemptTimeoutMs,
  stalledMs: 60_000,
  /** Bytes of all request bodies that are received or processed at the same time. */
  bodyBytesTotalMax: 64 * 1024 * 1024,
  bodyBytesForJson: 16 * 1024 * 1024,
  /** The largest body is a file to import. */
  bodyBytesPerKey: importFileBytesMax,
  syncMaxMs: defaultSyncMaxMs,
  replicaLagMaxMs: defaultReplicaLagMaxMs,
}

/** Times and limits that tests shorten. */
export type Bounds = Readonly<typeof defaultBounds> & {
  /** How late changes of other processes are noticed. The engines have different defaults. */
  readonly changePollMs?: number
  readonly replicaCheckMs?: number
  /**
   * When requests wait, or are rejected, because there are too many. inProgress.ts has the default of the first one, the
   * server those of the others.
   */
  readonly inProgressMax?: number
  readonly waitMaxMs?: number
  readonly burstMaxMs?: number
}
