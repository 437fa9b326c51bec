import type { PreparedResponse } from './response.ts'

const cacheBytesMax = 16 * 1024 * 1024
/** What an entry takes besides its characters, approximately. */
const entryBytes = 512

/**
 * Responses that depend on the database and the target alone. They are valid for one version of the database: with the
 * next one all are dropped, so no caller sees data from before an acknowledged change.
 */
export class PageCache {
  readonly #responses = new Map<string, PreparedResponse>()
  #version = -1
  #bytes = 0

  get(version: number, target: string): PreparedResponse | undefined {
    if (version === this.#version) return this.#responses.get(target)
    this.#clear()
    this.#version = version
    return undefined
  }

  /** `version` is the one that the database had before the response was read from it. */
  set(version: number, target: string, response: PreparedResponse): void {
    if (response.body === undefined || version !== this.#version || this.#responses.has(target)) return
    const bytes = response.body.length + target.length + entryBytes
    if (this.#bytes + bytes > cacheBytesMax) this.#clear()
    this.#responses.set(target, response)
    this.#bytes += bytes
  }

  #clear(): void {
    this.#responses.clear()
    this.#bytes = 0
  }
}

export type CachedRow = { readonly etag: string; readonly json: string }

const rowEntryBytes = 160

/**
 * Responses about one row each, valid until that row changes. A change by another process may affect any row, so a new
 * epoch drops all of them. The oldest entries make space for new ones.
 */
export class RowCache {
  readonly #bytesMax: number
  readonly #rows = new Map<number, CachedRow>()
  #bytes = 0
  #epoch = -1

  constructor(bytesMax = cacheBytesMax) {
    this.#bytesMax = bytesMax
  }

  get(epoch: number, id: number): CachedRow | undefined {
    if (epoch === this.#epoch) return this.#rows.get(id)
    this.#rows.clear()
    this.#bytes = 0
    this.#epoch = epoch
    return undefined
  }

  set(id: number, row: CachedRow): void {
    this.delete(id)
    this.#rows.set(id, row)
    this.#bytes += bytesOf(row)
    for (const oldest of this.#rows.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.delete(oldest)
    }
  }

  delete(id: number): void {
    const row = this.#rows.get(id)
    if (!row) return
    this.#rows.delete(id)
    this.#bytes -= bytesOf(row)
  }
}

const bytesOf = ({ etag, json }: CachedRow) => etag.length + json.length + rowEntryBytes
