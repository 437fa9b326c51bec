import type { Answer } from './operation.ts'

const bytesMax = 16 * 1024 * 1024
/** What an entry takes beside its bytes, roughly. */
const entryBytes = 512

/**
 * Answers that are a function of the store and of the address asked for alone. They hold for one version of the store;
 * with the next one all are forgotten, so that nobody is ever shown what an acknowledged change has made untrue.
 */
export class KeptAnswers {
  readonly #answers = new Map<string, Answer>()
  #version = -1
  #bytes = 0

  find(version: number, target: string): Answer | undefined {
    if (version === this.#version) return this.#answers.get(target)
    this.#forget()
    this.#version = version
    return undefined
  }

  /** Keeps an answer that was read after the store was seen to have this version. */
  keep(version: number, target: string, answer: Answer): void {
    if (answer.json === undefined || version !== this.#version || this.#answers.has(target)) return
    const bytes = Buffer.byteLength(answer.json) + target.length + entryBytes
    if (this.#bytes + bytes > bytesMax) this.#forget()
    this.#answers.set(target, answer)
    this.#bytes += bytes
  }

  #forget(): void {
    this.#answers.clear()
    this.#bytes = 0
  }
}
