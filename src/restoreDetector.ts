import type { Database } from './database/database.ts'
import { readMetadata } from './database/metadata.ts'

/** Detects that a restore has replaced the database while the service is running. */
export class RestoreDetector {
  readonly #database: Database
  #identity: string | undefined
  #check: Promise<boolean> | undefined
  #onRestore: () => Promise<void> = async () => {}
  /** A restore was detected and has not been applied yet. */
  isPending = false

  constructor(database: Database, identity: string | undefined) {
    this.#database = database
    this.#identity = identity
  }

  static async start(database: Database): Promise<RestoreDetector> {
    return new RestoreDetector(database, await readMetadata(database.read, 'identity'))
  }

  /** Calls back after a restore, again until it succeeds. */
  onRestore(listener: () => Promise<void>): void {
    this.#onRestore = listener
  }

  /** Whether this connection reads the database that the caches and counts of this process belong to. */
  async isSameDatabase(db: Database['read']): Promise<boolean> {
    return (await readMetadata(db, 'identity')) === this.#identity
  }

  /** Applies a restore, and returns whether there was one. Concurrent calls share one check. */
  check(): Promise<boolean> {
    this.#check ??= this.#apply().finally(() => {
      this.#check = undefined
    })
    return this.#check
  }

  async #apply(): Promise<boolean> {
    const current = await readMetadata(this.#database.read, 'identity')
    if (current === this.#identity) return false
    this.isPending = true
    await this.#onRestore()
    // Last: until then no counts of the previous database are written to the restored one.
    this.#identity = current
    this.isPending = false
    return true
  }
}
