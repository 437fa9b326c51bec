import type { Ready } from './outgoing.ts'

const bytesMax = 16 * 1024 * 1024
/** What an entry takes beside its bytes, roughly. */
const entryBytes = 512

/**
 * Answers that are a function of the store and of the address asked for alone. They hold for one version of the store;
 * with the next one all are forgotten, so that nobody is ever shown what an acknowledged change has made untrue.
 */
export class KeptAnswers {
  readonly #answers = new Map<string, Ready>()
  #version = -1
  #bytes = 0

  find(version: number, target: string): Ready | undefined {
    if (version === this.#version) return this.#answers.get(target)
    this.#forget()
    this.#version = version
    return undefined
  }

  /** Keeps an answer that was read after the store was seen to have this version. */
  keep(version: number, target: string, answer: Ready): void {
    if (answer.body === undefined || version !== this.#version || this.#answers.has(target)) return
    const bytes = answer.body.length + target.length + entryBytes
    if (this.#bytes + bytes > bytesMax) this.#forget()
    this.#answers.set(target, answer)
    this.#bytes += bytes
  }

  #forget(): void {
    this.#answers.clear()
    this.#bytes = 0
  }
}
