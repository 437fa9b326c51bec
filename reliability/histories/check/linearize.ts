/** An operation on one object. Its effect is at one moment between its start and its end. */
export type Operation<S> = {
  readonly startedAt: number
  /** Infinite if the outcome is unknown: then it takes effect at any later moment, or never. */
  readonly endedAt: number
  /** The state after it, or undefined if it cannot have happened in this state with the response that it got. */
  apply(state: S): S | undefined
}

export type Search<S, O> =
  | { readonly result: 'found' }
  /** The state after the most operations that could be put in order, and those that do not fit then. */
  | { readonly result: 'none'; readonly state: S; readonly stuck: readonly O[] }
  | { readonly result: 'undecided' }

/** An end or a start, in a linked list in the order of time. A start has the operation, and its end if it has one. */
type Entry<O> = {
  operation: O | undefined
  index: number
  end?: Entry<O>
  previous: Entry<O>
  next: Entry<O>
}

/**
 * Whether there is an order of the operations that agrees with their times and results: the algorithm of Wing and Gong with
 * Lowe's memoization, as in Porcupine. An operation that changes nothing is taken as soon as it fits, because this cannot
 * prevent another one. `stepsMax` bounds the time.
 */
export function linearize<S, O extends Operation<S>>(
  operations: readonly O[],
  initial: S,
  textOf: (state: S) => string,
  stepsMax = 500_000,
): Search<S, O> {
  const head = listOf<S, O>(operations)
  const done = new Uint8Array(operations.length)
  const seen = new Set<string>()
  const taken: { entry: Entry<O>; before: S; isChange: boolean }[] = []
  let left = operations.filter(({ endedAt }) => Number.isFinite(endedAt)).length
  let furthest: { left: number; state: S; stuck: O[] } = { left: left + 1, state: initial, stuck: [] }
  let state = initial
  let entry = head.next
  for (let steps = 0; left > 0; steps++) {
    if (steps > stepsMax) return { result: 'undecided' }
    const { operation } = entry
    if (operation) {
      const after = operation.apply(state)
      if (after !== undefined && isNew(entry.index, after)) {
        taken.push({ entry, before: state, isChange: after !== state })
        done[entry.index] = 1
        if (entry.end) left--
        remove(entry)
        state = after
        entry = head.next
      } else entry = entry.next
      continue
    }
    // The end of an operation that was not taken. All operations that can come before it were tried.
    if (left < furthest.left) furthest = { left, state, stuck: startedBefore(head, entry) }
    let last = taken.pop()
    for (; last && !last.isChange; last = taken.pop()) undo(last)
    if (!last) return { result: 'none', state: furthest.state, stuck: furthest.stuck }
    undo(last)
    entry = last.entry.next
  }
  return { result: 'found' }

  function undo(last: { entry: Entry<O>; before: S }): void {
    restore(last.entry)
    done[last.entry.index] = 0
    if (last.entry.end) left++
    state = last.before
  }

  function isNew(index: number, after: S): boolean {
    // Without a change there is no other way to try.
    if (after === state) return true
    done[index] = 1
    const text = `${Buffer.from(done).toString('latin1')}${textOf(after)}`
    done[index] = 0
    if (seen.has(text)) return false
    seen.add(text)
    return true
  }
}

function listOf<S, O extends Operation<S>>(operations: readonly O[]): Entry<O> {
  const moments = operations.flatMap((operation, index) => {
    const end = { at: operation.endedAt, index, operation: undefined }
    const start = { at: operation.startedAt, index, operation }
    return Number.isFinite(operation.endedAt) ? [start, end] : [start]
  })
  // At the same moment starts come first: such operations overlap.
  moments.sort((a, b) => a.at - b.at || Number(a.operation === undefined) - Number(b.operation === undefined))
  const head = { index: -1, operation: undefined } as unknown as Entry<O>
  head.next = head
  head.previous = head
  const starts = new Map<number, Entry<O>>()
  for (const { index, operation } of moments) {
    const entry: Entry<O> = { operation, index, previous: head.previous, next: head }
    head.previous.next = entry
    head.previous = entry
    if (operation) starts.set(index, entry)
    else (starts.get(index) as Entry<O>).end = entry
  }
  return head
}

function remove<O>(entry: Entry<O>): void {
  for (const one of entry.end ? [entry, entry.end] : [entry]) {
    one.previous.next = one.next
    one.next.previous = one.previous
  }
}

function restore<O>(entry: Entry<O>): void {
  for (const one of entry.end ? [entry.end, entry] : [entry]) {
    one.previous.next = one
    one.next.previous = one
  }
}

function startedBefore<O>(head: Entry<O>, end: Entry<O>): O[] {
  const found: O[] = []
  for (let entry = head.next; entry !== end; entry = entry.next)
    if (entry.operation && entry.end) found.push(entry.operation)
  return found
}
