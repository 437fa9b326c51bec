/** While waiting requests together weigh more than this, a connection resumes only after a second in the queue. */
const resumeWeightMax = 20
/** Requests can wait for long: behind an event stream, for example. */
const queueMaxMs = 1_000

type Resumable = { resume(): void }

/**
 * Connections whose reading is paused, because too many of their pipelined requests waited. They resume one after another.
 * When all of them resumed at once, thousands of requests were parsed in one turn of the event loop and survived garbage
 * collections, which took a quarter of the time.
 */
export class ResumeQueue {
  /** The weight of the pipelined requests that wait, on all connections together. */
  #weight = 0
  /** By the time when they were added, the oldest first. */
  readonly #addedAt = new Map<Resumable, number>()
  #immediate: NodeJS.Immediate | undefined
  #timer: NodeJS.Timeout | undefined

  get weight(): number {
    return this.#weight
  }

  addWeight(change: number): void {
    this.#weight += change
    if (change < 0) this.#schedule()
  }

  add(connection: Resumable): void {
    if (this.#addedAt.has(connection)) return
    this.#addedAt.set(connection, performance.now())
    this.#schedule()
  }

  delete(connection: Resumable): void {
    this.#addedAt.delete(connection)
  }

  #schedule(): void {
    const [oldest] = this.#addedAt.values()
    if (oldest === undefined || this.#immediate) return
    if (this.#weight <= resumeWeightMax) this.#immediate = setImmediate(this.#resumeIfFewWait)
    else this.#timer ??= setTimeout(this.#resumeIfDue, Math.max(0, oldest + queueMaxMs - performance.now()))
  }

  /** Runs after the requests of the connection before have been parsed. */
  readonly #resumeIfFewWait = (): void => {
    this.#immediate = undefined
    if (this.#weight <= resumeWeightMax) this.#resumeNext()
    else this.#schedule()
  }

  /** The connection for which the timer was set may have been deleted. */
  readonly #resumeIfDue = (): void => {
    this.#timer = undefined
    const [oldest] = this.#addedAt.values()
    if (oldest !== undefined && performance.now() - oldest >= queueMaxMs) this.#resumeNext()
    else this.#schedule()
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
    next.resume()
    this.#schedule()
  }
}
