import type { Ready } from './outgoing.ts'

const pagesBytesMax = 16 * 1024 * 1024
const rowsBytesMax = 16 * 1024 * 1024
/** What an entry takes beside its characters, roughly. */
const pageBytes = 512

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

/** Two numbers each: whose answer it is, and where it begins in all that was ever kept. */
const slotsMax = 2 ** 17
/** Before each text: how many bytes it has, and whether each is a character. */
const recordHead = 3
const recordBytesMax = 0xffff

/**
 * Answers about one row each, which hold until that row changes: whoever writes says which. A change by another process
 * may be of any row, so there all are forgotten. They lie one behind the other in a ring of bytes, where the newest take
 * the place of the oldest: as a hundred thousand texts they would take three times the room, and the collector's time.
 */
export class KeptRows {
  readonly #slots: Float64Array
  readonly #ring: Buffer
  /** Where the next one will begin, counted on through all rounds of the ring. */
  #end = 0
  /** What begins before this is forgotten. */
  #start = 0
  #epoch = -1

  constructor(bytesMax = rowsBytesMax, rowsMax = slotsMax) {
    // Neither takes memory before it is written to.
    this.#slots = new Float64Array(2 * rowsMax)
    this.#ring = Buffer.alloc(bytesMax)
  }

  find(epoch: number, id: number): KeptRow | undefined {
    if (epoch !== this.#epoch) {
      this.#start = this.#end
      this.#epoch = epoch
    }
    const slot = this.#slotOf(id)
    const begin = this.#slots[slot + 1] as number
    const ring = this.#ring
    if (this.#slots[slot] !== id || begin < this.#start || begin < this.#end - ring.length) return undefined
    const place = begin % ring.length
    const from = place + recordHead
    const to = from + (ring[place] as number) + 256 * (ring[place + 1] as number)
    const text = ring.toString(ring[place + 2] === 1 ? 'latin1' : 'utf8', from, to)
    const split = text.indexOf('{')
    return { etag: text.slice(0, split), json: text.slice(split) }
  }

  keep(id: number, { etag, json }: KeptRow): void {
    const text = etag + json
    const bytes = Buffer.byteLength(text)
    const ring = this.#ring
    if (bytes > recordBytesMax || recordHead + bytes > ring.length) return void this.forget(id)
    const left = ring.length - (this.#end % ring.length)
    if (recordHead + bytes > left) this.#end += left
    const place = this.#end % ring.length
    ring[place] = bytes % 256
    ring[place + 1] = bytes >> 8
    ring[place + 2] = bytes === text.length ? 1 : 0
    ring.write(text, place + recordHead)
    const slot = this.#slotOf(id)
    this.#slots[slot] = id
    this.#slots[slot + 1] = this.#end
    this.#end += recordHead + bytes
  }

  forget(id: number): void {
    const slot = this.#slotOf(id)
    if (this.#slots[slot] === id) this.#slots[slot] = 0
  }

  #slotOf(id: number): number {
    return (2 * id) % this.#slots.length
  }
}
