import { type Clock, timestamp } from './clock.ts'
import type { Config } from './config.ts'
import type { Database } from './database/database.ts'
import { defaultSyncMaxMs } from './database/durability.ts'
import { readFact } from './database/facts.ts'
import { openForServing } from './database/open.ts'
import { Hub } from './events/hub.ts'
import { newestEventId, pruneEvents, recordEvent } from './events/queries.ts'
import { type StreamBounds, usualStreamBounds } from './events/stream.ts'
import { createApi } from './http/api.ts'
import type { App } from './http/app.ts'
import { IdempotentAnswers } from './http/idempotency.ts'
import { KeptRows } from './http/kept.ts'
import { listen } from './http/listen.ts'
import { secretHider } from './keys/apiKey.ts'
import { KeyDirectory } from './keys/directory.ts'
import { ensureOperatorKey } from './keys/operator.ts'
import { createDoor } from './limits/door.ts'
import { MemoryLimiter } from './limits/memory.ts'
import { memoryGate } from './limits/memoryGate.ts'
import { postgresGate } from './limits/postgres.ts'
import { createOperations } from './operations.ts'
import { hasDueOrders, lapseDueOrders } from './orders/queries.ts'
import { createProbes } from './pages/probes.ts'
import { type Log, logRequest } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { Deliverer } from './webhooks/deliverer.ts'
import { isDelivered, pruneDeliveries } from './webhooks/deliveries.ts'
import { attemptTimeoutMs } from './webhooks/webhook.ts'

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
  ...usualStreamBounds,
  sweepMs: 60_000,
  attemptTimeoutMs,
  stalledMs: 60_000,
  syncMaxMs: defaultSyncMaxMs,
}

export type ServiceOptions = {
  config: Config
  clock: Clock
  log: Log
  bounds?: Partial<Bounds>
  /** In place of the clock of a shared store, which decides over limits. */
  limitClock?: Clock
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
  const durableThrough = await database.followDurable(newestEventId).catch(async (error: unknown) => {
    await database.close()
    throw error
  })

  const background = (work: Promise<unknown>) =>
    void work.catch((error: unknown) => log.error({ err: error }, 'background work failed'))
  const metrics = new Metrics(loadGauges(database))
  const hideSecrets = secretHider(config.adminKey)
  const directory = new KeyDirectory(database, config.environment)
  let identity = await readFact(database.read, 'identity')
  const isSameStore = async (db: Database['read']) => (await readFact(db, 'identity')) === identity
  const { banAfterRefusals } = config
  const gate =
    config.databaseUrl === undefined
      ? memoryGate(directory, new MemoryLimiter(database, banAfterRefusals, undefined, isSameStore), clock)
      : postgresGate({ database, directory, banAfterRefusals, clock, limitClock: options.limitClock })
  const idempotentAnswers = new IdempotentAnswers(database)
  const door = createDoor({
    gate,
    directory,
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
  const hub = new Hub()
  const deliverer = new Deliverer({
    database,
    clock,
    sending: { allowed: config.webhookAllow, timeoutMs: bounds.attemptTimeoutMs },
    durableThrough,
    onAttempt: (outcome) => metrics.countAttempt(isDelivered(outcome)),
    onFault: (error) => log.error({ err: error }, 'delivering webhooks failed'),
  })
  const wake = () => {
    hub.wake()
    deliverer.wake()
  }
  database.onCommit(wake)
  database.onForeignChange(wake)
  database.onForeignChange(() => background(noticeReplacement()))
  const onStreamFault = (error: unknown) => log.error({ err: error }, 'streaming events failed')
  const operations = createOperations({
    database,
    directory,
    gate,
    hub,
    config,
    streamBounds: bounds,
    durableThrough,
    onStreamFault,
  })
  const rows = new KeptRows()
  const epoch = database.watchPets((id) => rows.forget(id))
  const api = createApi({
    keptRows: epoch && { rows, epoch },
    operations,
    door,
    database,
    idempotentAnswers,
    clock,
    trustedProxies: config.trustedProxies,
    publicUrl: config.publicUrl,
    onFinished(finished) {
      metrics.countRequest(finished)
      logRequest(log, finished, hideSecrets)
    },
  })

  /** A restore has put another store in place of ours: what we remember of the old one is void, the setting still holds. */
  async function noticeReplacement() {
    const current = await readFact(database.read, 'identity')
    if (current === identity) return
    identity = current
    gate.forgetKeys()
    await ensureOperatorKey(database, config, clock())
    directory.forget()
  }

  let isStopping = false
  const isReady = async () => {
    if (isStopping) return false
    const isReachable = await database.ping().then(
      () => true,
      () => false,
    )
    // The stop may have begun meanwhile.
    return isReachable && !isStopping
  }
  const probes = createProbes(isReady)
  let site: Promise<App> | undefined
  const openSite = async () => {
    const { createSite } = await import('./pages/site.ts')
    const onFault = (error: unknown) => log.error({ err: error }, 'page failed')
    return createSite({ config, operations, metrics, door, probes, api, onFault })
  }

  const listener = await listen(
    {
      direct: (incoming) =>
        incoming.target.startsWith('/v1/')
          ? api(incoming)
          : (probes.get(incoming.target)?.() ?? api(incoming)),
      async fetch(request, remoteAddress) {
        site ??= openSite()
        return (await site).fetch(request, { remoteAddress })
      },
    },
    config,
    bounds,
  ).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  // Not before the door is open: a key made by a start that then fails would never be shown to anybody.
  const newOperatorKey = await ensureOperatorKey(database, config, clock()).catch(async (error: unknown) => {
    hub.close()
    await Promise.all([listener.stop(), deliverer.stop()])
    await database.close()
    throw error
  })
  // Whoever knocked in between may be remembered by a key that the setting has just replaced.
  directory.forget()
  const timers = [
    every(usageFlushMs, () => gate.flush(), log),
    every(bounds.sweepMs, () => idempotentAnswers.sweep(clock()), log),
    every(bounds.sweepMs, () => gate.sweep(), log),
    every(bounds.sweepMs, () => pruneAll(database, clock), log),
    every(dueMs, () => lapseHolds(database, clock), log),
    every(dueMs, async () => deliverer.wake(), log),
  ]

  async function stop() {
    isStopping = true
    hub.close()
    const delivererStopped = deliverer.stop()
    await listener.stop()
    for (const timer of timers) clearInterval(timer)
    try {
      await delivererStopped
      await gate.flush()
    } finally {
      await database.close()
    }
  }

  return { port: listener.port, newOperatorKey, failed, stop }
}

const loadGauges = (database: Database) => [
  {
    name: 'petstore_writes_waiting',
    help: 'Changes that wait for their commit.',
    value: () => database.load().writesWaiting,
  },
  {
    name: 'petstore_database_connections_busy',
    help: 'Connections to PostgreSQL in use.',
    value: () => database.load().connectionsBusy,
  },
  {
    name: 'petstore_database_connections_awaited',
    help: 'Requests that wait for a connection to PostgreSQL.',
    value: () => database.load().connectionsAwaited,
  },
]

/** Lets go of what is kept no longer, a bounded piece at a time. */
async function pruneAll(database: Database, clock: Clock): Promise<void> {
  for (const prune of [pruneEvents, pruneDeliveries]) {
    while ((await database.write((trx) => prune(trx, clock()))) > 0) {
      // There may be more.
    }
  }
}

/** Asks before it writes, for there is seldom anything to do. */
async function lapseHolds(database: Database, clock: Clock): Promise<void> {
  while (await hasDueOrders(database.read, clock())) {
    await database.write((trx) => lapseDueOrders(trx, clock()))
  }
}

/** Work that comes round again. A round that fails is logged; the next one tries anew. */
function every(ms: number, work: () => Promise<void>, log: Log): NodeJS.Timeout {
  let isRunning = false
  return setInterval(async () => {
    if (isRunning) return
    isRunning = true
    await work().catch((error: unknown) => log.error({ err: error }, 'background work failed'))
    isRunning = false
  }, ms)
}
