import { DatabaseUnavailableError } from '../database.ts'
import { TransactionSlots } from './transactionSlots.ts'

const waitingMax = 10_000
/** One that has locked the subject, and one that waits for the lock, so that it starts without a round trip. */
const runningMax = 2

/** Bounds the work that runs at the same time for each subject. The rest waits in the order of arrival. */
export class SubjectQueue {
  readonly #slots = new Map<string, { slots: TransactionSlots; users: number }>()
  waiting = 0

  async run<T>(subject: string, work: () => Promise<T>): Promise<T> {
    const entry = this.#slots.get(subject) ?? { slots: new TransactionSlots(runningMax), users: 0 }
    if (entry.users >= runningMax && this.waiting >= waitingMax)
      throw new DatabaseUnavailableError('Too many writes are waiting.')
    this.#slots.set(subject, entry)
    entry.users++
    this.waiting++
    let isWaiting = true
    const start = () => {
      isWaiting = false
      this.waiting--
      return work()
    }
    try {
      return await entry.slots.run(start)
    } finally {
      if (isWaiting) this.waiting--
      entry.users--
      if (entry.users === 0) this.#slots.delete(subject)
    }
  }
}
