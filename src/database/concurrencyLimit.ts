import { DatabaseUnavailableError, type Precheck } from './database.ts'

const defaultBounds = {
  /** Work that waits, of all subjects. */
  waitingMax: 10_000,
  /** Work that waits for longer is rejected. */
  waitMaxMs: 10_000,
}

type RunOptions = {
  readonly subject?: string | undefined
  /** May reject the work while it waits. */
  readonly precheck?: Precheck | undefined
  /** Starts before all others that wait. */
  readonly hasPriority?: boolean | undefined
}

type Waiting = {
  readonly precheck: Precheck | undefined
  readonly addedAt: number
  start(): void
  reject(error: unknown): void
}

type Subject = {
  /** In the order in which it starts. Empty while fewer than `runningMax` run. */
  waiting: Waiting[]
  running: number
  isChecking: boolean
}

/**
 * Bounds the work that runs at the same time for each subject. The rest waits: work with priority first, then in the order
 * of arrival.
 */
export class ConcurrencyLimit {
  readonly #runningMax: number
  readonly #bounds: Readonly<typeof defaultBounds>
  readonly #subjects = new Map<string, Subject>()
  waiting = 0

  /** `runningMax`: for each subject. */
  constructor(runningMax: number, bounds: Partial<typeof defaultBounds> = {}) {
    this.#runningMax = runningMax
    this.#bounds = { ...defaultBounds, ...bounds }
  }

  async run<T>(
    work: () => Promise<T>,
    { subject: name = '', precheck, hasPriority }: RunOptions = {},
  ): Promise<T> {
    const subject = this.#subjects.get(name) ?? { waiting: [], running: 0, isChecking: false }
    this.#subjects.set(name, subject)
    if (subject.running < this.#runningMax) subject.running++
    else await this.#wait(subject, { precheck, hasPriority })
    try {
      return await work()
    } finally {
      this.#end(name, subject)
    }
  }

  #wait(subject: Subject, { precheck, hasPriority }: RunOptions): Promise<void> {
    if (this.waiting >= this.#bounds.waitingMax)
      throw new DatabaseUnavailableError('Too many requests are waiting.')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const added = { precheck, addedAt: performance.now(), start: resolve, reject }
    if (hasPriority) subject.waiting.unshift(added)
    else subject.waiting.push(added)
    this.waiting++
    return promise
  }

  /** Starts the next work in place of the one that has ended, and checks the rest. */
  #end(name: string, subject: Subject): void {
    const next = this.#next(subject)
    if (next) {
      next.start()
      void this.#check(subject)
    } else if (--subject.running === 0) {
      this.#subjects.delete(name)
    }
  }

  #next({ waiting }: Subject): Waiting | undefined {
    for (;;) {
      const next = waiting.shift()
      if (!next) return undefined
      this.waiting--
      if (performance.now() - next.addedAt <= this.#bounds.waitMaxMs) return next
      next.reject(new DatabaseUnavailableError('The request waited too long for others.'))
    }
  }

  /**
   * One check for all that wait. It reads what is committed after they arrived: work that arrives during a check waits for
   * the next one. It is the check of the last that arrived, because a check may depend on the time of the request.
   */
  async #check(subject: Subject): Promise<void> {
    const last = subject.waiting.findLast(({ precheck }) => precheck)
    if (!last?.precheck || subject.isChecking) return
    const { precheck } = last
    subject.isChecking = true
    const error: unknown = await precheck.run().catch((reason: unknown) => reason)
    subject.isChecking = false
    // If the check could not read, each work decides for itself.
    if (error === undefined || error instanceof DatabaseUnavailableError) return
    const arrivedBefore = new Set(subject.waiting.slice(0, subject.waiting.indexOf(last) + 1))
    const isDecided = (one: Waiting) => one.precheck?.name === precheck.name && arrivedBefore.has(one)
    const decided = subject.waiting.filter(isDecided)
    subject.waiting = subject.waiting.filter((one) => !isDecided(one))
    this.waiting -= decided.length
    for (const { reject } of decided) reject(error)
  }
}
