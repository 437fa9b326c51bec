/** The next connection resumes when the waiting requests of the one before weigh no more than this, or when it is due. */
const resumeWeightMax = 20
/** A connection is due after this time in the queue: the requests of the one before can wait for long, behind a stream for example. */
const queueMaxMs = 1_000
/** The same, while the client of the one before does not read. */
const stalledMaxMs = 50
/** How often to look whether that client reads. */
const checkMs = 50

type Resumable = {
  resume(): void
  /** The weight of its pipelined requests that wait. */
  readonly waitingWeight: number
  /** Whether its client does not read. */
  readonly isStalled: boolean
}

/**
 * Connections whose reading is paused because of waiting pipelined requests. They resume one after another.
 * When all of them resumed at once, thousands of requests were parsed in one turn of the event loop and survived garbage
 * collections, which took a quarter of the time.
 */
export class ResumeQueue {
  /** The weight of the pipelined requests that wait, on all connections together. */
  #weight = 0
  /** By the time when they were added, the oldest first. */
  readonly #addedAt = new Map<Resumable, number>()
  /** The connection that resumed last, while it is open. */
  #resumed: Resumable | undefined
  #immediate: NodeJS.Immediate | undefined
  #timer: NodeJS.Timeout | undefined

  get weight(): number {
    return this.#weight
  }

  addWeight(change: number): void {
    this.#weight += change
    if (change < 0) this.#update()
  }

  add(connection: Resumable): void {
    if (this.#addedAt.has(connection)) return
    this.#addedAt.set(connection, performance.now())
    this.#update()
  }

  remove(connection: Resumable): void {
    this.#addedAt.delete(connection)
  }

  close(connection: Resumable): void {
    this.remove(connection)
    if (this.#resumed !== connection) return
    this.#resumed = undefined
    this.#update()
  }

  #update(): void {
    if (this.#addedAt.size === 0 || this.#immediate) return
    if (this.#canResume) this.#immediate = setImmediate(this.#resumeIfPossible)
    else this.#timer ??= setTimeout(this.#resumeIfDue, Math.min(checkMs, Math.max(0, this.#dueInMs)))
  }

  /** The requests of other connections do not matter: a client that does not read could have many for minutes. */
  get #canResume(): boolean {
    return (this.#resumed?.waitingWeight ?? 0) <= resumeWeightMax
  }

  /** The time until the oldest one is due. */
  get #dueInMs(): number {
    const [oldest = Number.POSITIVE_INFINITY] = this.#addedAt.values()
    const maxMs = this.#resumed?.isStalled ? stalledMaxMs : queueMaxMs
    return oldest + maxMs - performance.now()
  }

  /** Runs after the requests of the connection before have been parsed. */
  readonly #resumeIfPossible = (): void => {
    this.#immediate = undefined
    if (this.#canResume) this.#resumeNext()
    else this.#update()
  }

  readonly #resumeIfDue = (): void => {
    this.#timer = undefined
    if (this.#dueInMs <= 0) this.#resumeNext()
    else this.#update()
  }

  #resumeNext(): void {
    // Only one of them runs. Otherwise two connections would resume in each turn from then on.
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
    this.#timer = undefined
    this.#immediate = undefined
    const [next] = this.#addedAt.keys()
    if (!next) return
    this.#addedAt.delete(next)
    this.#resumed = next
    next.resume()
    this.#update()
  }
}
