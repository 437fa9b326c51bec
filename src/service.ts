import { connectionGroup } from './api/clientAddress.ts'
import { IdempotencyRecords } from './api/idempotency.ts'
import type { Operation } from './api/operation.ts'
import { Pipeline } from './api/pipeline.ts'
import type { WebPage } from './api/router.ts'
import { redactor } from './auth/apiKey.ts'
import { createAuth } from './auth/auth.ts'
import { createBanReporter } from './banReporter.ts'
import { type Bounds, defaultBounds } from './bounds.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import { type Database, DatabaseUnavailableError } from './database/database.ts'
import { openForServing } from './database/open.ts'
import { EventBroadcaster } from './events/broadcaster.ts'
import { createFindStreamAccess } from './events/streamAccess.ts'
import { Importer } from './imports/http/importer.ts'
import { createInProgressMax } from './inProgress.ts'
import { ensureOperatorKey } from './keys/operatorKey.ts'
import { createPageRateLimiter } from './limits/pageRateLimiter.ts'
import { ListingIndexer } from './listings/indexer.ts'
import { catalogueOf } from './openapi/errors.ts'
import { createOperations } from './operations.ts'
import { createReadiness } from './pages/readiness.ts'
import { createPetBatch } from './pets/queries.postgres.ts'
import { PhotoDecoder } from './photos/decoder.ts'
import { startRestoreDetector } from './restoreDetector.ts'
import { createJobs, startSchedule } from './schedule.ts'
import { callerOf, laneOf } from './server/lanes.ts'
import { listen } from './server/listen.ts'
import { Startup } from './startup.ts'
import { createCloseReporter, createShedReporter } from './telemetry/limitReporters.ts'
import { type Log, logFailure } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { reportStorageFaults } from './telemetry/storageFaults.ts'
import { UsageCounter } from './usage/usageCounter.ts'
import { Deliverer } from './webhooks/deliverer.ts'
import { isDelivered } from './webhooks/webhook.ts'
import { createPages } from './webPages.ts'

export type Service = {
  readonly port: number
  /** The secret of the operator key, if this start has created one. It cannot be read again. */
  readonly newOperatorKey: string | undefined
  /** Resolves when the disk has failed. The process should then exit: the next start recovers the database. */
  readonly failed: Promise<void>
  /** Completes requests in progress, writes pending counts, and closes the database. */
  stop(): Promise<void>
  /** What the stop waits for. */
  readonly stopProgress: { readonly step: string }
}

type ServiceOptions = {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly bounds?: Partial<Bounds>
  /** Replaces the clock of PostgreSQL, which decides on rate limits. */
  readonly limitClock?: Clock
  /** DNS servers for webhooks, instead of those of the system. */
  readonly nameServers?: readonly string[]
  /** Besides those of the features. For tests. */
  readonly additional?: { readonly operations: readonly Operation[]; readonly pages: readonly WebPage[] }
}

/** The composition root: the only place that knows the features, the engines and the server. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const bounds: Bounds = { ...defaultBounds, ...options.bounds }
  const { config, clock } = options
  const database = await openForServing({ ...config, ...bounds }, clock())
  try {
    const parts = await wire(database, { ...options, bounds })
    return await serve(database, parts, { ...options, bounds })
  } catch (error) {
    await database.close()
    throw error
  }
}

type WireOptions = ServiceOptions & { readonly bounds: Bounds }
type Parts = Awaited<ReturnType<typeof wire>>

/** Creates every part and connects them. Nothing runs yet. */
async function wire(database: Database, options: WireOptions) {
  const { config, clock, log, bounds, additional = { operations: [], pages: [] } } = options
  const restore = await startRestoreDetector(database)
  const metrics = new Metrics(() => {
    const stats = { ...database.stats(), logLinesLost: log.linesLost() }
    return { ...stats, writesWaiting: stats.writesWaiting + pipeline.writesWaiting() }
  })
  const startup = new Startup()
  const isSqlite = config.databaseUrl === undefined
  const { cache, limiter, authenticator } = createAuth({
    ...{ database, clock, limitClock: options.limitClock },
    ...{ environment: config.environment, banAfterRejections: config.banAfterRejections },
    isSqlite,
    isSameDatabase: restore.isSameDatabase,
    isStale: async (token) => token === config.adminKey && (await restore.check()),
    whenStarted: () => startup.wait(),
    onBan: createBanReporter({ database, clock, log, metrics, recordsBans: isSqlite }),
  })
  const common = { database, clock }
  const broadcaster = new EventBroadcaster({
    ...common,
    bounds,
    findAccess: createFindStreamAccess(cache, clock),
    onFault: (error) => log.error({ err: error }, 'streaming events failed'),
  })
  const deliverer = new Deliverer({
    ...common,
    sending: {
      allowed: config.webhookAllow,
      timeoutMs: bounds.attemptTimeoutMs,
      nameServers: options.nameServers,
    },
    onAttempt: (outcome) => metrics.attempts.increment(isDelivered(outcome) ? 'delivered' : 'failed'),
    onFault: (error) => log.error({ err: error }, 'delivering webhooks failed'),
  })
  const usage = new UsageCounter({
    ...common,
    flushIntervalMs: bounds.usageFlushMs,
    readFlushIntervalMs: bounds.usageReadFlushMs,
    isSameDatabase: restore.isSameDatabase,
  })
  const indexer = new ListingIndexer({
    ...common,
    indexDelayMs: bounds.indexDelayMs,
    onFault: (error) => log.error({ err: error }, 'updating the search index failed'),
  })
  const importer = new Importer({
    ...common,
    importClaimMs: bounds.importClaimMs,
    onFault: (error) => log.error({ err: error }, 'importing animals failed'),
  })
  const decoder = new PhotoDecoder(bounds)
  const ownOperations = createOperations({
    ...{ database, broadcaster, config, decoder },
    ...{ apiKeyCache: cache, rateLimiter: limiter, flushUsage: () => usage.flushForRead() },
    wakeImporter: () => importer.wake(),
    createBatch: isSqlite ? undefined : createPetBatch(database, config.publicUrl),
  })
  const operations = [...ownOperations, ...additional.operations]
  metrics.errors.startAtZero(catalogueOf(operations).map(({ code }) => code))
  const isReady = createReadiness({
    checks: [() => startup.state === 'started', () => !restore.isPending()],
    ping: () => database.ping(),
  })
  const idempotencyRecords = new IdempotencyRecords(database)
  const { trustedProxies, publicUrl } = config
  const pipeline: Pipeline = new Pipeline({
    ...{ database, clock, operations, authenticator, idempotencyRecords, trustedProxies, publicUrl },
    redact: redactor(config.adminKey),
    bodyBytesTotalMax: bounds.bodyBytesTotalMax,
    bodyBytesForJson: bounds.bodyBytesForJson,
    bodyBytesPerKey: bounds.bodyBytesPerKey,
    ...createPages({ config, operations, metrics, authenticator, isReady }, additional.pages),
    admitToPages: createPageRateLimiter(clock),
    onShed: createShedReporter(log, metrics),
    onFinished(request) {
      metrics.countRequest(request)
      usage.count(request)
      log.request(request)
    },
  })
  const background = { broadcaster, deliverer, usage, indexer, importer, decoder }
  return { startup, restore, metrics, cache, limiter, pipeline, ...background }
}

/** Opens the port, creates the operator key and starts the jobs. */
async function serve(database: Database, parts: Parts, { config, clock, log, bounds }: WireOptions) {
  const { startup, restore, cache, limiter, broadcaster, deliverer, usage, pipeline, metrics } = parts
  const { indexer, importer, decoder } = parts
  const failed = reportStorageFaults(database, log)
  const wake = () => {
    broadcaster.wake()
    deliverer.wake()
    indexer.onCommit()
  }
  database.replica?.watch((problem) => {
    if (problem === undefined) log.info('read replica in use')
    else log.warn({ problem }, 'read replica left out')
  }, bounds.replicaCheckMs)
  database.onCommit(wake)
  database.onExternalChange(() => {
    wake()
    restore.check().catch(logFailure(log))
  })
  restore.onRestore(async () => {
    limiter.forgetKeys()
    usage.forget()
    // Without the setting a key could be created, but not shown: the next start creates one.
    if (config.adminKey !== undefined) await ensureOperatorKey(database, config, clock())
    cache.invalidate()
  })
  const server = await listen(
    {
      handle: (request) => pipeline.handle(request),
      laneOf,
      callerOf: (request) => callerOf(request, config.trustedProxies),
      inProgressMax: createInProgressMax({ database, ...parts, ...bounds }),
      onConnectionClosed: createCloseReporter(log, metrics),
    },
    config,
    {
      ...bounds,
      connectionsPerAddressMax: config.connectionsPerAddressMax,
      addressGroup: (address) => connectionGroup(address, config.trustedProxies),
    },
  )
  // After the port is open: a key of a start that fails would never be shown. Requests wait until it is created.
  const newOperatorKey = await ensureOperatorKey(database, config, clock()).catch(async (error: unknown) => {
    startup.fail(new DatabaseUnavailableError('The start failed.', { cause: error }))
    broadcaster.close()
    await Promise.all([server.stop(), deliverer.stop(), indexer.stop(), importer.stop(), decoder.stop()])
    throw error
  })
  cache.invalidate()
  startup.finish()
  indexer.wake()
  const stopSchedule = startSchedule(createJobs({ ...parts, database, clock, log, bounds }), log)

  const stopProgress = { step: 'the first step' }
  const wait = async (step: string, work: Promise<unknown>) => {
    stopProgress.step = step
    await work
  }
  async function stop() {
    startup.stop()
    broadcaster.close()
    const delivererStopped = deliverer.stop()
    const indexerStopped = indexer.stop()
    const importerStopped = importer.stop()
    decoder.stopAccepting()
    await wait('requests in progress', server.stop())
    log.flushRejections()
    await decoder.stop()
    const scheduleStopped = stopSchedule()
    try {
      await wait('the delivery of webhooks', delivererStopped)
      await wait('the search index', indexerStopped)
      await wait('imports', importerStopped)
      await wait('scheduled jobs', scheduleStopped)
      const flushed = Promise.all([limiter.flush(), usage.flush().catch(logFailure(log))])
      await wait('the write of the counts', flushed)
    } finally {
      await wait('the database to close', database.close())
    }
  }
  return { port: server.port, newOperatorKey, failed, stop, stopProgress }
}
