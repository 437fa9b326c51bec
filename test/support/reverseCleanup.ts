import type { TestContext } from 'node:test'

/** Runs the hooks in reverse order: a service stops before its database is removed. `t.after` runs the first one first. */
export function reverseCleanup(t: Pick<TestContext, 'after'>): Pick<TestContext, 'after'> {
  const undos: (() => unknown)[] = []
  t.after(async () => {
    const faults: unknown[] = []
    // A hook that fails must not prevent the others.
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
