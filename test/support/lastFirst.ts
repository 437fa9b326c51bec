import type { TestContext } from 'node:test'

/** Undoes what was done in the reverse order: a service stops before the store under it goes. `t.after` begins with the first. */
export function lastFirst(t: Pick<TestContext, 'after'>): Pick<TestContext, 'after'> {
  const undos: (() => unknown)[] = []
  t.after(async () => {
    const faults: unknown[] = []
    // What cannot be undone must not keep the rest from it.
    for (const undo of undos.toReversed()) {
      try {
        await undo()
      } catch (error) {
        faults.push(error)
      }
    }
    if (faults.length > 0) throw faults[0]
  })
  return { after: (undo) => void undos.push(undo as () => unknown) }
}
