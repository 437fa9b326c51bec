/**
 * Callers that arrive at a fixed rate and do not wait for each other. Each takes a free connection of its group, or opens
 * one. A caller whose response takes longer than its limit gives up and closes its connection. Prints one line of JSON.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Connection, sendOnce, serializeRequest } from '../../bench/load/client.ts'
import { percentile } from '../../bench/statistics.ts'
import type { ArrivalPlan, CallerGroup, GroupReport, RequestKind } from './plan.ts'

const limitMs = 2_000
const tickMs = 1
const recoveryMaxMs = 10_000
const recoveryPauseMs = 20
/** Below the limit of the service. */
const connectionsPerAddressMax = 1_900

class Callers {
  readonly #group: CallerGroup
  readonly #port: number
  readonly #free: Connection[] = []
  readonly #waiting: (() => void)[] = []
  readonly #goodMs: number[] = []
  readonly #lateMs: number[] = []
  readonly #rejectedMs: number[] = []
  readonly #statuses: Record<string, number> = {}
  readonly #goodPerSecond: number[] = []
  readonly #startedAt = performance.now()
  #open = 0
  #opened = 0
  #sent = 0
  #pending = 0
  #recoveryMs: number | undefined
  #shortestRetryAfter = Number.POSITIVE_INFINITY

  constructor(port: number, group: CallerGroup) {
    this.#port = port
    this.#group = group
  }

  get isIdle(): boolean {
    return this.#pending === 0
  }

  /** Sends the requests that are due. Their time begins when they were due, also if this process is late. */
  arrive(elapsedMs: number): void {
    const { perSecond } = this.#group
    const due = Math.floor((elapsedMs / 1000) * perSecond)
    while (this.#sent < due) {
      const lateMs = elapsedMs - ((this.#sent + 1) * 1000) / perSecond
      this.#lateMs.push(lateMs)
      void this.#call(this.#sent++, performance.now() - lateMs)
    }
  }

  /** Callers that send their next request when they have a response, to measure the capacity. */
  async repeat(endsAt: number): Promise<void> {
    const repeatedly = async () => {
      while (performance.now() < endsAt) await this.#call(this.#sent++, performance.now())
    }
    await Promise.all(Array.from({ length: this.#group.callers ?? 0 }, repeatedly))
  }

  /** Called after the last arrival. */
  async recover(): Promise<void> {
    if (!this.#group.isRecoveryMeasured) return
    this.#pending++
    const endedAt = performance.now()
    const waitedMs = () => performance.now() - endedAt
    while (this.#recoveryMs === undefined && waitedMs() < recoveryMaxMs) {
      const response = await sendOnce(this.#port, this.#text(0), limitMs).catch(() => undefined)
      if (response && isGood(response.status)) this.#recoveryMs = waitedMs()
      else await pause(recoveryPauseMs)
    }
    this.#pending--
  }

  report(seconds: number): GroupReport {
    const { name, perSecond } = this.#group
    const good = this.#goodMs.length
    return {
      name,
      perSecond,
      sent: this.#sent,
      good,
      goodPerSecond: good / seconds,
      bySecond: Array.from(this.#goodPerSecond, (count) => count ?? 0),
      statuses: this.#statuses,
      goodP50Ms: percentile(this.#goodMs, 0.5),
      goodP99Ms: percentile(this.#goodMs, 0.99),
      rejectedP50Ms: percentile(this.#rejectedMs, 0.5),
      lateP99Ms: percentile(this.#lateMs, 0.99),
      hasRetryAfter: this.#shortestRetryAfter >= 1,
      connections: this.#open,
      recoveryMs: this.#recoveryMs ?? null,
    }
  }

  async #call(index: number, arrivedAt: number): Promise<void> {
    this.#pending++
    let connection: Connection | undefined
    const timer = setTimeout(() => connection?.close(), limitMs)
    try {
      connection = await this.#connection()
      const leftMs = limitMs - (performance.now() - arrivedAt)
      if (leftMs <= 0) throw new Error('timeout')
      const { status, head } = await connection.send(this.#text(index))
      this.#count(status, head, performance.now() - arrivedAt)
      this.#give(connection)
    } catch {
      const isLate = performance.now() - arrivedAt >= limitMs
      this.#tally(isLate ? 'timeout' : 'closed')
      this.#drop(connection)
    }
    clearTimeout(timer)
    this.#pending--
  }

  #count(status: number, head: string, ms: number): void {
    this.#tally(ms <= limitMs ? String(status) : 'timeout')
    if (ms > limitMs) return
    if (isGood(status)) {
      this.#goodMs.push(ms)
      const second = Math.floor((performance.now() - this.#startedAt) / 1000)
      this.#goodPerSecond[second] = (this.#goodPerSecond[second] ?? 0) + 1
    }
    if (status !== 503) return
    this.#rejectedMs.push(ms)
    const seconds = Number(/\r\nretry-after: *(\d+)/i.exec(head)?.[1] ?? 0)
    this.#shortestRetryAfter = Math.min(this.#shortestRetryAfter, seconds)
  }

  #tally(outcome: string): void {
    this.#statuses[outcome] = (this.#statuses[outcome] ?? 0) + 1
  }

  /** The connection that became free last, because the others can become idle and be closed. Otherwise a new one. */
  async #connection(): Promise<Connection> {
    for (;;) {
      const free = this.#free.pop()
      if (free) return free
      if (this.#open < connectionsPerAddressMax * this.#group.addresses.length) break
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#open++
    const { addresses } = this.#group
    return Connection.open(this.#port, addresses[this.#opened++ % addresses.length])
  }

  #give(connection: Connection): void {
    this.#free.push(connection)
    this.#waiting.shift()?.()
  }

  #drop(connection: Connection | undefined): void {
    connection?.close()
    this.#open--
    this.#waiting.shift()?.()
  }

  #text(index: number): string {
    const { kinds, keys } = this.#group
    const kind = kinds[index % kinds.length] as RequestKind
    const key = keys[index % keys.length] as string
    const number = String(index)
    const id = String(1 + ((index * 7_919) % kind.ids))
    const path = kind.path.replace('{id}', id).replace('{n}', number)
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(kind.body && { 'Content-Type': 'application/json' }),
    }
    return serializeRequest(kind.method, path, headers, kind.body?.replace('{n}', number))
  }
}

const isGood = (status: number): boolean => (status >= 200 && status < 300) || status === 304

const plan: ArrivalPlan = JSON.parse(process.env.RELIABILITY_PLAN ?? '')
const groups = plan.groups.map((group) => new Callers(plan.port, group))
const startedAt = performance.now()
const endMs = plan.seconds * 1000
for (const group of groups) void group.repeat(startedAt + endMs)
let hasEnded = false
const timer = setInterval(() => {
  const elapsedMs = performance.now() - startedAt
  if (!hasEnded) for (const group of groups) group.arrive(Math.min(elapsedMs, endMs))
  if (elapsedMs >= endMs && !hasEnded) {
    hasEnded = true
    for (const group of groups) void group.recover()
  }
  if (elapsedMs < endMs || !groups.every(({ isIdle }) => isIdle)) return
  clearInterval(timer)
  console.log(JSON.stringify(groups.map((group) => group.report(plan.seconds))))
  process.exit()
}, tickMs)
