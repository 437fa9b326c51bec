import { connectionGroup } from './api/clientAddress.ts'
import { IdempotencyRecords } from './api/idempotency.ts'
import { Pipeline, type RequestLog } from './api/pipeline.ts'
import { ApiKeyCache } from './auth/apiKeyCache.ts'
import { createAuthenticator } from './auth/authenticator.ts'
import { embeddedKeyStore } from './auth/embeddedKeyStore.ts'
import { postgresKeyStore } from './auth/postgresKeyStore.ts'
import { type Clock, timestamp } from './clock.ts'
import type { Config } from './config.ts'
import { type Database, DatabaseUnavailableError } from './database/database.ts'
import { readMetadata } from './database/metadata.ts'
import { openForServing } from './database/open.ts'
import { defaultSyncMaxMs } from './database/sqlite/durability.ts'
import { EventBroadcaster } from './events/broadcaster.ts'
import { newestEventId, recordEvent } from './events/queries.ts'
import { defaultStreamBounds, type StreamBounds } from './events/stream.ts'
import type { FindStreamAccess } from './events/streamAccess.ts'
import { ensureOperatorKey } from './keys/operator.ts'
import { MemoryRateLimiter } from './limits/memory.ts'
import { createPageAllowance } from './limits/pageAllowance.ts'
import { PostgresRateLimiter } from './limits/postgres.ts'
import { createOperations } from './operations.ts'
import { createPages } from './pages/pages.ts'
import { createReadiness } from './pages/readiness.ts'
import { expireHolds, pruneAll, startSchedule } from './schedule.ts'
import { listen } from './server/listen.ts'
import { createCloseReporter } from './telemetry/closedConnections.ts'
import { databaseGauges } from './telemetry/databaseGauges.ts'
import type { Log } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { Deliverer } from './webhooks/deliverer.ts'
import { attemptTimeoutMs, isDelivered } from './webhooks/webhook.ts'

/** Counts are behind by no more than this, so a crash forgives less than a second of requests. */
const usageFlushMs = 500
/** How late a hold may lapse, or a webhook be tried again. */
const dueMs = 1_000

const faultLevels = { failed: 'fatal', overdue: 'error', recovered: 'warn' } as const

export type Service = {
  readonly port: number
  /** The operator's key, where this start has made one. It is known nowhere else. */
  readonly newOperatorKey: string | undefined
  /** Resolves when the disk has failed. The process should then end: the next start recovers the store. */
  readonly failed: Promise<void>
  /** Answers what has come in, writes what is not yet written, and closes. */
  stop(): Promise<void>
}

/** What takes longer, or more callers, than a test can wait for. */
export type Bounds = StreamBounds & {
  readonly sweepMs: number
  readonly attemptTimeoutMs: number
  readonly stalledMs: number
  readonly syncMaxMs: number
}

const usualBounds: Bounds = {
  ...defaultStreamBounds,
  sweepMs: 60_000,
  attemptTimeoutMs,
  stalledMs: 60_000,
  syncMaxMs: defaultSyncMaxMs,
}

type ServiceOptions = {
  config: Config
  clock: Clock
  log: Log
  bounds?: Partial<Bounds>
  /** In place of the clock of a shared store, which decides over limits. */
  limitClock?: Clock
  /** DNS servers for webhooks, in place of the system's. */
  nameServers?: readonly string[]
}

/** The composition root: the one place that knows both the features and what they stand on. */
export async function startService({ config, clock, log, ...options }: ServiceOptions): Promise<Service> {
  const bounds = { ...usualBounds, ...options.bounds }
  const database = await openForServing({ ...config, syncMaxMs: bounds.syncMaxMs }, clock())
  const failed = new Promise<void>((resolve) => {
    database.onStorageFault(({ kind, message, error }) => {
      log[faultLevels[kind]]({ err: error }, message)
      if (kind === 'failed') resolve()
    })
  })
  const durableThrough = await database.trackDurable(newestEventId).catch(async (error: unknown) => {
    await database.close()
    throw error
  })

  const background = (work: Promise<unknown>) =>
    void work.catch((error: unknown) => log.error({ err: error }, 'background work failed'))
  const metrics = new Metrics(databaseGauges(() => database.stats()))
  // Requests wait until the operator key is in the database. If that fails, they fail with the same error.
  const startup = Promise.withResolvers<void>()
  startup.promise.catch(() => {})
  let isStarted = false
  const isStale = async (token: string) => token === config.adminKey && (await checkForRestore())
  const cache = new ApiKeyCache(database, config.environment, isStale)
  let identity = await readMetadata(database.read, 'identity')
  const isSameDatabase = async (db: Database['read']) => (await readMetadata(db, 'identity')) === identity
  const { limiter, keys } = createKeyStore()
  const idempotentAnswers = new IdempotencyRecords(database)
  const door = createAuthenticator({
    keys,
    cache,
    limiter,
    whenStarted: () => (isStarted ? undefined : startup.promise),
    onBan(keyId, untilMs) {
      metrics.countBan()
      const until = timestamp(untilMs)
      log.warn({ keyId, until }, 'key banned')
      background(
        database.write(async (trx) =>
          recordEvent(trx, clock(), 'key.banned', { id: keyId, bannedUntil: until }),
        ),
      )
    },
  })
  const findAccess: FindStreamAccess = async (token) => {
    const key = await cache.load(token)
    if (!key || cache.problem(key, clock()) !== undefined) return undefined
    const { scopes, expiresAt, secretExpiresAt, streamsMax } = key
    return { scopes, endsAt: Math.min(expiresAt, secretExpiresAt), streamsMax }
  }
  const broadcaster = new EventBroadcaster({
    database,
    clock,
    bounds,
    findAccess,
    durableThrough,
    onFault: (error) => log.error({ err: error }, 'streaming events failed'),
  })
  const deliverer = new Deliverer({
    database,
    clock,
    sending: {
      allowed: config.webhookAllow,
      timeoutMs: bounds.attemptTimeoutMs,
      nameServers: options.nameServers,
    },
    durableThrough,
    onAttempt: (outcome) => metrics.countAttempt(isDelivered(outcome)),
    onFault: (error) => log.error({ err: error }, 'delivering webhooks failed'),
  })
  const wake = () => {
    broadcaster.wake()
    deliverer.wake()
  }
  database.onCommit(wake)
  database.onForeignChange(wake)
  database.onForeignChange(() => background(checkForRestore()))
  const operations = createOperations({
    database,
    apiKeyCache: cache,
    rateLimiter: limiter,
    broadcaster,
    findAccess,
    config,
    streamsMax: bounds.streamsMax,
    durableThrough,
  })
  const onFinished = (finished: RequestLog) => {
    metrics.countRequest(finished)
    log.request(finished)
  }

  function createKeyStore() {
    const common = { database, clock, banAfterRejections: config.banAfterRefusals }
    if (config.databaseUrl === undefined) {
      const limiter = new MemoryRateLimiter({ ...common, isSameDatabase })
      return { limiter, keys: embeddedKeyStore(cache, limiter, clock) }
    }
    const limiter = new PostgresRateLimiter({ ...common, limitClock: options.limitClock })
    return { limiter, keys: postgresKeyStore(cache, limiter) }
  }

  let restoreCheck: Promise<boolean> | undefined
  let isRestorePending = false
  /** Answers whether a restore has replaced the store. All that ask while one check runs share it. */
  function checkForRestore(): Promise<boolean> {
    restoreCheck ??= applyReplacement().finally(() => {
      restoreCheck = undefined
    })
    return restoreCheck
  }

  /** The caches of the old store are void, and PETSTORE_ADMIN_KEY applies to the restored one as well. */
  async function applyReplacement(): Promise<boolean> {
    const current = await readMetadata(database.read, 'identity')
    if (current === identity) return false
    isRestorePending = true
    limiter.forgetKeys()
    // Without the setting a key could be made here, but not shown: that is left to the next start.
    if (config.adminKey !== undefined) await ensureOperatorKey(database, config, clock())
    cache.forget()
    // Last: until then no counts of the old store are written to the new one.
    identity = current
    isRestorePending = false
    return true
  }

  let isStopping = false
  const isReady = createReadiness({
    checks: [() => !isStopping, () => !isRestorePending, () => isStarted],
    ping: () => database.ping(),
  })
  const pipeline = new Pipeline({
    operations,
    pages: createPages({ config, operations, metrics, authenticator: door, isReady }),
    database,
    authenticator: door,
    idempotencyRecords: idempotentAnswers,
    clock,
    trustedProxies: config.trustedProxies,
    publicUrl: config.publicUrl,
    admitToPages: createPageAllowance({ clock, trustedProxies: config.trustedProxies }),
    onFinished,
  })

  const listener = await listen(
    { handle: (request) => pipeline.handle(request), onConnectionClosed: createCloseReporter(log, metrics) },
    config,
    {
      ...bounds,
      connectionsPerAddressMax: config.connectionsPerAddressMax,
      addressGroup: (address) => connectionGroup(address, config.trustedProxies),
    },
  ).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  // Only once the port is bound: a key made by a start that then fails would never be shown. Requests wait for it.
  const newOperatorKey = await ensureOperatorKey(database, config, clock()).catch(async (error: unknown) => {
    startup.reject(new DatabaseUnavailableError('The start failed.', { cause: error }))
    broadcaster.close()
    await Promise.all([listener.stop(), deliverer.stop()])
    await database.close()
    throw error
  })
  cache.forget()
  isStarted = true
  startup.resolve()
  const schedule = startSchedule(
    [
      { everyMs: usageFlushMs, run: () => limiter.flush() },
      { everyMs: bounds.sweepMs, run: () => idempotentAnswers.sweep(clock()) },
      { everyMs: bounds.sweepMs, run: () => limiter.sweep() },
      { everyMs: bounds.sweepMs, run: () => pruneAll(database, clock) },
      { everyMs: dueMs, run: () => expireHolds(database, clock) },
      { everyMs: dueMs, run: async () => deliverer.wake() },
      { everyMs: dueMs, run: async () => void (isRestorePending && (await checkForRestore())) },
    ],
    log,
  )

  async function stop() {
    isStopping = true
    broadcaster.close()
    const delivererStopped = deliverer.stop()
    await listener.stop()
    schedule.stop()
    try {
      await delivererStopped
      await limiter.flush()
    } finally {
      await database.close()
    }
  }

  return { port: listener.port, newOperatorKey, failed, stop }
}
