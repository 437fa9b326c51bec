import { type Clock, timestamp } from './clock.ts'
import type { Config } from './config.ts'
import { type Database, StoreUnavailableError } from './database/database.ts'
import { readFact } from './database/facts.ts'
import { openForServing } from './database/open.ts'
import type { FindAccess } from './events/access.ts'
import { EventBroadcaster } from './events/broadcaster.ts'
import { pruneEvents, recordEvent } from './events/queries.ts'
import { type StreamBounds, usualStreamBounds } from './events/stream.ts'
import { createApi } from './http/api.ts'
import type { App } from './http/app.ts'
import type { Finished } from './http/exchange.ts'
import { IdempotentAnswers } from './http/idempotency.ts'
import { KeptRows } from './http/kept.ts'
import { listen } from './http/listen.ts'
import { secretHider } from './keys/apiKey.ts'
import { KeyDirectory } from './keys/directory.ts'
import { ensureOperatorKey } from './keys/operator.ts'
import { createDoor } from './limits/door.ts'
import { MemoryLimiter } from './limits/memory.ts'
import { memoryGate } from './limits/memoryGate.ts'
import { createPageAllowance } from './limits/pageAllowance.ts'
import { postgresGate } from './limits/postgres.ts'
import { createStartup } from './limits/startup.ts'
import { createOperations } from './operations.ts'
import { hasDueOrders, lapseDueOrders } from './orders/queries.ts'
import { createProbes } from './pages/probes.ts'
import { createReadiness } from './pages/readiness.ts'
import { closedConnections } from './telemetry/connections.ts'
import { type Log, logRequest } from './telemetry/log.ts'
import { Metrics } from './telemetry/metrics.ts'
import { Deliverer } from './webhooks/deliverer.ts'
import { isDelivered, pruneDeliveries } from './webhooks/deliveries.ts'
import { attemptTimeoutMs } from './webhooks/webhook.ts'

/** Counts are behind by no more than this, so a crash forgives less than a second of requests. */
const usageFlushMs = 500
/** How late a hold may lapse, or a webhook be tried again. */
const dueMs = 1_000

export type Service = {
  readonly port: number
  /** The operator's key, where this start has made one. It is known nowhere else. */
  readonly newOperatorKey: string | undefined
  /** Answers what has come in, writes what is not yet written, and closes. */
  stop(): Promise<void>
}

/** What takes longer, or more callers, than a test can wait for. */
export type Bounds = StreamBounds & {
  readonly sweepMs: number
  readonly attemptTimeoutMs: number
  readonly stalledMs: number
}

const usualBounds: Bounds = { ...usualStreamBounds, sweepMs: 60_000, attemptTimeoutMs, stalledMs: 60_000 }

export type ServiceOptions = {
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
  const database = await openForServing(config, clock())

  const background = (work: Promise<unknown>) =>
    void work.catch((error: unknown) => log.error({ err: error }, 'background work failed'))
  const metrics = new Metrics(loadGauges(database))
  const hideSecrets = secretHider(config.adminKey)
  const startup = createStartup()
  const directory = new KeyDirectory(database, config.environment, {
    isStale: async (token) => token === config.adminKey && (await noticeReplacement()),
  })
  let identity = await readFact(database.read, 'identity')
  const isSameStore = async (db: Database['read']) => (await readFact(db, 'identity')) === identity
  const { banAfterRefusals } = config
  const gate =
    config.databaseUrl === undefined
      ? memoryGate(directory, new MemoryLimiter(database, banAfterRefusals, undefined, isSameStore), clock)
      : postgresGate({ database, directory, banAfterRefusals, clock, limitClock: options.limitClock })
  const idempotentAnswers = new IdempotentAnswers(database)
  const door = createDoor({
    gate: startup.hold(gate),
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
  const findAccess: FindAccess = async (token) => {
    const found = await directory.findStored(token, clock())
    if ('problem' in found) return undefined
    const { scopes, limits, expiresAt, secretExpiresAt } = found.key
    return { scopes, endsAt: Math.min(expiresAt, secretExpiresAt), streamsMax: limits.streams }
  }
  const broadcaster = new EventBroadcaster({
    database,
    clock,
    bounds,
    findAccess,
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
    onAttempt: (outcome) => metrics.countAttempt(isDelivered(outcome)),
    onFault: (error) => log.error({ err: error }, 'delivering webhooks failed'),
  })
  const wake = () => {
    broadcaster.wake()
    deliverer.wake()
  }
  database.onCommit(wake)
  database.onForeignChange(wake)
  database.onForeignChange(() => background(noticeReplacement()))
  const operations = createOperations({
    database,
    directory,
    gate,
    broadcaster,
    findAccess,
    config,
    streamsMax: bounds.streamsMax,
  })
  const onFinished = (finished: Finished) => {
    metrics.countRequest(finished)
    logRequest(log, finished, hideSecrets)
  }
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
    onFinished,
  })

  let noticing: Promise<boolean> | undefined
  let isReplacementPending = false
  /** Answers whether a restore has replaced the store. All that ask while one check runs share it. */
  function noticeReplacement(): Promise<boolean> {
    noticing ??= applyReplacement().finally(() => {
      noticing = undefined
    })
    return noticing
  }

  /** The caches of the old store are void, and PETSTORE_ADMIN_KEY applies to the restored one as well. */
  async function applyReplacement(): Promise<boolean> {
    const current = await readFact(database.read, 'identity')
    if (current === identity) return false
    isReplacementPending = true
    gate.forgetKeys()
    // Without the setting a key could be made here, but not shown: that is left to the next start.
    if (config.adminKey !== undefined) await ensureOperatorKey(database, config, clock())
    directory.forget()
    // Last: until then no counts of the old store are written to the new one.
    identity = current
    isReplacementPending = false
    return true
  }

  let isStopping = false
  const isReady = createReadiness({
    checks: [() => !isStopping, () => !isReplacementPending, () => startup.isFinished()],
    ping: () => database.ping(),
  })
  const probes = createProbes(isReady)
  const admitToPages = createPageAllowance({ clock, trustedProxies: config.trustedProxies })
  let site: Promise<App> | undefined
  const openSite = async () => {
    const { createSite } = await import('./pages/site.ts')
    const onFault = (error: unknown) => log.error({ err: error }, 'page failed')
    return createSite({ config, operations, metrics, door, probes, api, admitToPages, onFault })
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
      onFinished,
      onConnectionClosed: closedConnections(log, metrics),
    },
    config,
    {
      ...bounds,
      connectionsPerAddressMax: config.connectionsPerAddressMax,
      trustedProxies: config.trustedProxies,
    },
  ).catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  // Only once the port is bound: a key made by a start that then fails would never be shown. Requests wait for it.
  const newOperatorKey = await ensureOperatorKey(database, config, clock()).catch(async (error: unknown) => {
    startup.fail(new StoreUnavailableError('The start failed.', { cause: error }))
    broadcaster.close()
    await Promise.all([listener.stop(), deliverer.stop()])
    await database.close()
    throw error
  })
  directory.forget()
  startup.finish()
  const timers = [
    every(usageFlushMs, () => gate.flush(), log),
    every(bounds.sweepMs, () => idempotentAnswers.sweep(clock()), log),
    every(bounds.sweepMs, () => gate.sweep(), log),
    every(bounds.sweepMs, () => pruneAll(database, clock), log),
    every(dueMs, () => lapseHolds(database, clock), log),
    every(dueMs, async () => deliverer.wake(), log),
    every(dueMs, async () => void (isReplacementPending && (await noticeReplacement())), log),
  ]

  // A crash may have come between an erasure and the scrubbing behind it.
  database.scrub()

  async function stop() {
    isStopping = true
    broadcaster.close()
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

  return { port: listener.port, newOperatorKey, stop }
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
