import { DatabaseUnavailableError } from '../database.ts'
import { TransactionSlots } from './transactionSlots.ts'

const waitingMax = 10_000
/** One that has locked the subject, and one that waits for the lock, so that it starts without a round trip. */
const runningMax = 2

type Subject = {
  readonly slots: TransactionSlots
  users: number
  running: number
  /** Resolves when the next running work ends. */
  ended: PromiseWithResolvers<void>
}

/** Bounds the work that runs at the same time for each subject. The rest waits in the order of arrival. */
export class SubjectQueue {
  readonly #subjects = new Map<string, Subject>()
  waiting = 0

  /** `precheck` rejects if the work would fail. It is called if other work runs, after the first of it has ended. */
  async run<T>(name: string, work: () => Promise<T>, precheck?: () => Promise<void>): Promise<T> {
    const subject = this.#subjects.get(name) ?? {
      slots: new TransactionSlots(runningMax),
      users: 0,
      running: 0,
      ended: Promise.withResolvers<void>(),
    }
    if (subject.users >= runningMax && this.waiting >= waitingMax)
      throw new DatabaseUnavailableError('Too many writes are waiting.')
    this.#subjects.set(name, subject)
    subject.users++
    this.waiting++
    let isWaiting = true
    try {
      if (precheck && subject.running >= runningMax) {
        await subject.ended.promise
        await precheck()
      }
      return await subject.slots.run(async () => {
        isWaiting = false
        this.waiting--
        subject.running++
        try {
          return await work()
        } finally {
          subject.running--
          subject.ended.resolve()
          subject.ended = Promise.withResolvers<void>()
        }
      })
    } finally {
      if (isWaiting) this.waiting--
      subject.users--
      if (subject.users === 0) this.#subjects.delete(name)
    }
  }
}
