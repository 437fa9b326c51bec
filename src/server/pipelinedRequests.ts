import type { NodeRequest } from './nodeAdapter.ts'
import type { ResumeQueue } from './resumeQueue.ts'

/** The requests of a connection that wait for the one before them, in order. */
export class PipelinedRequests {
  readonly #waiting: { readonly request: NodeRequest; readonly weight: number }[] = []
  readonly #resumeQueue: ResumeQueue
  #weight = 0

  constructor(resumeQueue: ResumeQueue) {
    this.#resumeQueue = resumeQueue
  }

  get length(): number {
    return this.#waiting.length
  }

  /** The memory that they take, in multiples of that of a small request. */
  get weight(): number {
    return this.#weight
  }

  get newest(): NodeRequest | undefined {
    return this.#waiting.at(-1)?.request
  }

  add(request: NodeRequest): void {
    const { weight } = request
    this.#waiting.push({ request, weight })
    this.#addWeight(weight)
  }

  /** Takes the oldest one. */
  next(): NodeRequest | undefined {
    const taken = this.#waiting.shift()
    if (taken) this.#addWeight(-taken.weight)
    return taken?.request
  }

  clear(): void {
    this.#addWeight(-this.#weight)
    this.#waiting.length = 0
  }

  #addWeight(change: number): void {
    this.#weight += change
    this.#resumeQueue.addWeight(change)
  }
}
