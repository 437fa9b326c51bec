import type { Int64 } from '../../../client/src/index.ts'

/**
 * Changes that arrive while something is loaded. The response may be older than they are, so they are applied again after
 * it. Only the last change of each id is kept. A load has a timeout, which bounds their number.
 */
export class ChangesDuringLoad<Change> {
  readonly #loads = new Set<Map<Int64, Change>>()

  record(id: Int64, change: Change): void {
    for (const changes of this.#loads) {
      // The last change is applied last.
      changes.delete(id)
      changes.set(id, change)
    }
  }

  /** Runs a load. Returns its result, and what changed during it. */
  async during<Result>(
    load: () => Promise<Result>,
  ): Promise<{ result: Result; changes: ReadonlyMap<Int64, Change> }> {
    const changes = new Map<Int64, Change>()
    this.#loads.add(changes)
    try {
      return { result: await load(), changes }
    } finally {
      this.#loads.delete(changes)
    }
  }
}
