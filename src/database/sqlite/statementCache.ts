import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isReadOnlyStatement } from '../driver.ts'

const statementsMax = 256
/** Characters of all texts together. A statement takes up to 100 bytes of memory per character. */
const textMax = 128 * 1024

export type Prepared = {
  readonly statement: StatementSync
  readonly hasRows: boolean
  readonly isReadOnly: boolean
}

/** Prepared statements of one connection by their text. The least recently used ones are given up. */
export class StatementCache {
  readonly #connection: DatabaseSync
  /** In the order of their last use. */
  readonly #statements = new Map<string, Prepared>()
  #textLength = 0

  constructor(connection: DatabaseSync) {
    this.#connection = connection
  }

  get(text: string): Prepared {
    const known = this.#statements.get(text)
    if (known) {
      this.#statements.delete(text)
      this.#statements.set(text, known)
      return known
    }
    const statement = this.#connection.prepare(text)
    statement.setReadBigInts(true)
    const hasRows = statement.columns().length > 0
    const prepared = { statement, hasRows, isReadOnly: isReadOnlyStatement(text) }
    if (text.length <= textMax) this.#keep(text, prepared)
    return prepared
  }

  #keep(text: string, prepared: Prepared): void {
    this.#statements.set(text, prepared)
    this.#textLength += text.length
    for (const oldest of this.#statements.keys()) {
      if (this.#statements.size <= statementsMax && this.#textLength <= textMax) return
      this.#statements.delete(oldest)
      this.#textLength -= oldest.length
    }
  }
}
