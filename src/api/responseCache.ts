import type { CachedBody, PreparedResponse } from './response.ts'

const pagesBytesMax = 16 * 1024 * 1024
/** What an entry takes beside its characters, roughly. */
const pageBytes = 512

/**
 * Answers that are a function of the store and of the address asked for alone. They hold for one version of the store;
 * with the next one all are forgotten, so that nobody is ever shown what an acknowledged change has made untrue.
 */
export class PageCache {
  readonly #answers = new Map<string, PreparedResponse>()
  #version = -1
  #bytes = 0

  find(version: number, target: string): PreparedResponse | undefined {
    if (version === this.#version) return this.#answers.get(target)
    this.#forget()
    this.#version = version
    return undefined
  }

  /** Keeps an answer that was read after the store was seen to have this version. */
  keep(version: number, target: string, answer: PreparedResponse): void {
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

export type CachedRow = { readonly etag: string; readonly json: string }

/** How many rows have a place, and how many bytes there are for all of them. */
type RowBounds = { readonly rowsMax: number; readonly pieces: number; readonly pieceBytes: number }

const usualRowBounds: RowBounds = { rowsMax: 2 ** 17, pieces: 64, pieceBytes: 256 * 1024 }
/** Before each text: how many bytes it has, and whether each is a character. */
const recordHead = 3
const recordBytesMax = 0xffff

/**
 * Answers about one row each, which hold until that row changes: whoever writes says which. A change by another process
 * may be of any row, so there all are forgotten. They lie one behind the other in a ring of bytes, where the newest take
 * the place of the oldest: as a hundred thousand texts they would take three times the room, and the collector's time.
 */
export class RowCache {
  readonly #bounds: RowBounds
  readonly #bytesMax: number
  /** Two numbers for each place: whose answer it is, and where it begins in all that was ever kept. */
  #places = new Float64Array()
  /** The ring, in pieces that are made when they are needed. */
  readonly #pieces: Buffer[] = []
  /** Where the next one will begin, counted on through all rounds of the ring. */
  #end = 0
  /** What begins before this is forgotten. */
  #start = 0
  #epoch = -1

  constructor(bounds = usualRowBounds) {
    this.#bounds = bounds
    this.#bytesMax = bounds.pieces * bounds.pieceBytes
  }

  find(epoch: number, id: number): CachedBody | undefined {
    if (epoch !== this.#epoch) {
      this.#start = this.#end
      this.#epoch = epoch
    }
    const place = this.#placeOf(id)
    const begin = this.#places[place + 1] as number
    if (this.#places[place] !== id || begin < this.#start || begin < this.#end - this.#bytesMax)
      return undefined
    const piece = this.#pieceAt(begin)
    const at = begin % piece.length
    const from = at + recordHead
    const bytes = (piece[at] as number) + 256 * (piece[at + 1] as number)
    const isAscii = piece[at + 2] === 1
    const text = piece.toString(isAscii ? 'latin1' : 'utf8', from, from + bytes)
    const split = text.indexOf('{')
    return { etag: text.slice(0, split), json: text.slice(split), bytes: bytes - split, isAscii }
  }

  keep(id: number, { etag, json }: CachedRow): void {
    const { rowsMax, pieceBytes } = this.#bounds
    if (this.#places.length === 0) this.#places = new Float64Array(2 * rowsMax)
    const text = etag + json
    const bytes = Buffer.byteLength(text)
    if (bytes > recordBytesMax || recordHead + bytes > pieceBytes) return void this.forget(id)
    const left = pieceBytes - (this.#end % pieceBytes)
    if (recordHead + bytes > left) this.#end += left
    const piece = this.#pieceAt(this.#end)
    const at = this.#end % pieceBytes
    piece[at] = bytes % 256
    piece[at + 1] = bytes >> 8
    piece[at + 2] = bytes === text.length ? 1 : 0
    piece.write(text, at + recordHead)
    const place = this.#placeOf(id)
    this.#places[place] = id
    this.#places[place + 1] = this.#end
    this.#end += recordHead + bytes
  }

  forget(id: number): void {
    const place = this.#placeOf(id)
    if (this.#places[place] === id) this.#places[place] = 0
  }

  #placeOf(id: number): number {
    return 2 * (id % this.#bounds.rowsMax)
  }

  #pieceAt(begin: number): Buffer {
    const { pieces, pieceBytes } = this.#bounds
    const index = Math.floor(begin / pieceBytes) % pieces
    let piece = this.#pieces[index]
    if (!piece) {
      piece = Buffer.allocUnsafeSlow(pieceBytes)
      this.#pieces[index] = piece
    }
    return piece
  }
}
