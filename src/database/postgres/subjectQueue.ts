import { DatabaseUnavailableError, type Precheck } from '../database.ts'
import { waitMaxMs } from './transactionSlots.ts'

const waitingMax = 10_000
/** One that has locked the subject, and one that waits for the lock, so that it starts without a round trip. */
const runningMax = 2

type Waiting = {
  readonly precheck: Precheck | undefined
  readonly addedAt: number
  start(): void
  reject(error: unknown): void
}

type Subject = {
  /** In the order of arrival. Empty unless `runningMax` run. */
  waiting: Waiting[]
  running: number
  isChecking: boolean
}

/** Bounds the work that runs at the same time for each subject. The rest waits in the order of arrival. */
export class SubjectQueue {
  readonly #subjects = new Map<string, Subject>()
  /** The work that waits, of all subjects. */
  waiting = 0

  /** `precheck` may reject the work while it waits. */
  async run<T>(name: string, work: () => Promise<T>, precheck?: Precheck): Promise<T> {
    const subject = this.#subjects.get(name) ?? { waiting: [], running: 0, isChecking: false }
    this.#subjects.set(name, subject)
    if (subject.running < runningMax) subject.running++
    else await this.#wait(subject, precheck)
    try {
      return await work()
    } finally {
      this.#end(name, subject)
    }
  }

  #wait(subject: Subject, precheck: Precheck | undefined): Promise<void> {
    if (this.waiting >= waitingMax) throw new DatabaseUnavailableError('Too many writes are waiting.')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    subject.waiting.push({ precheck, addedAt: performance.now(), start: resolve, reject })
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
      if (performance.now() - next.addedAt <= waitMaxMs) return next
      next.reject(new DatabaseUnavailableError('The change waited too long for another one.'))
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
