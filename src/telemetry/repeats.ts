/** Subjects beyond this are counted together. */
const subjectsMax = 1_000
const others = Symbol('others')

type Repeated<T> = { count: number; latest: T }

/** Counts what repeats, so that an attack cannot fill the log: of each subject the first is written, then only numbers. */
export class Repeats<T> {
  readonly #subjects = new Map<string | typeof others, Repeated<T>>()
  readonly #intervalMs: number
  readonly #write: (latest: T | undefined, count: number) => void

  /** `write` gets the latest of a subject, or undefined for those of several subjects. */
  constructor(intervalMs: number, write: (latest: T | undefined, count: number) => void) {
    this.#intervalMs = intervalMs
    this.#write = write
  }

  /** Returns whether it is the first of its subject for a while. Otherwise it is counted. */
  isFirst(subject: string, item: T): boolean {
    const isSeparate = this.#subjects.has(subject) || this.#subjects.size < subjectsMax
    const key = isSeparate ? subject : others
    const repeated = this.#subjects.get(key)
    if (!repeated) {
      this.#subjects.set(key, { count: 0, latest: item })
      this.#wait(key)
      return true
    }
    repeated.count++
    repeated.latest = item
    return false
  }

  /** Writes the numbers so far. */
  flush(): void {
    for (const [key, repeated] of this.#subjects) this.#writeCount(key, repeated)
  }

  #wait(key: string | typeof others): void {
    const end = () => {
      const repeated = this.#subjects.get(key)
      if (!repeated?.count) return void this.#subjects.delete(key)
      this.#writeCount(key, repeated)
      this.#wait(key)
    }
    setTimeout(end, this.#intervalMs).unref()
  }

  #writeCount(key: string | typeof others, repeated: Repeated<T>): void {
    const { count, latest } = repeated
    repeated.count = 0
    if (count > 0) this.#write(key === others ? undefined : latest, count)
  }
}
