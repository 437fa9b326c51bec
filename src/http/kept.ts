import type { Ready } from './outgoing.ts'

const pagesBytesMax = 16 * 1024 * 1024
const rowsBytesMax = 16 * 1024 * 1024
/** What an entry takes beside its characters, roughly. */
const pageBytes = 512
const rowBytes = 64

/**
 * Answers that are a function of the store and of the address asked for alone. They hold for one version of the store;
 * with the next one all are forgotten, so that nobody is ever shown what an acknowledged change has made untrue.
 */
export class KeptPages {
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
    const bytes = answer.body.length + target.length + pageBytes
    if (this.#bytes + bytes > pagesBytesMax) this.#forget()
    this.#answers.set(target, answer)
    this.#bytes += bytes
  }

  #forget(): void {
    if (this.#answers.size === 0) return
    this.#answers.clear()
    this.#bytes = 0
  }
}

export type KeptRow = { readonly etag: string; readonly json: string }

/**
 * Answers about one row each, which hold until that row changes: whoever writes says which. A change by another process
 * may be of any row, so there all are forgotten.
 */
export class KeptRows {
  /** ETag and JSON as one text: a hundred thousand of them take half the room so. */
  #texts = new Map<number, string>()
  #bytes = 0
  #epoch = -1

  find(epoch: number, id: number): KeptRow | undefined {
    if (epoch !== this.#epoch) {
      this.#begin()
      this.#epoch = epoch
    }
    const text = this.#texts.get(id)
    if (text === undefined) return undefined
    const end = text.indexOf('{')
    return { etag: text.slice(0, end), json: text.slice(end) }
  }

  keep(id: number, { etag, json }: KeptRow): void {
    const bytes = etag.length + json.length + rowBytes
    if (this.#bytes + bytes > rowsBytesMax) this.#begin()
    this.#texts.set(id, etag + json)
    this.#bytes += bytes
  }

  forget(id: number): void {
    this.#texts.delete(id)
  }

  #begin(): void {
    this.#texts = new Map()
    this.#bytes = 0
  }
}
