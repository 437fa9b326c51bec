import type { Call, Problem, PromiseName } from '../history.ts'
import { type AnimalState, noAnimal, stateText } from './animal.ts'
import { checkFeedReads, checkOrder, checkPages, finalFeed, matchChanges } from './feed.ts'
import { checkFinal } from './final.ts'
import { linearize } from './linearize.ts'
import { checkOpenOrders } from './openOrders.ts'
import { type AnimalOperation, operationsIn } from './operations.ts'
import { Replay } from './replay.ts'
import { checkIfMatch, checkReplays, checkResponses } from './responses.ts'

export type Findings = {
  readonly problems: readonly Problem[]
  readonly animals: number
  readonly operations: number
  readonly events: number
}

/** Compares a history with the promises of the interface. It knows nothing else of the service. */
export function checkHistory(calls: readonly Call[]): Findings {
  const problems: Problem[] = []
  const note = (promise: PromiseName, messages: readonly string[]) =>
    problems.push(...messages.map((message) => ({ promise, message })))
  const feed = finalFeed(calls)
  const byPet = operationsIn(calls, feed)
  const all = [...byPet.values()].flat()
  note('responses', checkResponses(calls))
  note('replays', checkReplays(calls))
  note('updates', checkIfMatch(calls))
  note('orders', checkOpenOrders(calls))
  for (const [id, operations] of byPet) note('linearizable', checkAnimal(id, operations))

  const replay = new Replay(feed)
  const { changes, problems: unmatched, positionOf } = matchChanges(feed, all)
  const feedProblems = [
    ...checkPages(calls, feed),
    ...replay.problems,
    ...unmatched,
    ...checkOrder(changes),
    ...checkFeedReads(calls, changes),
  ]
  note('feed', feedProblems)
  note('orders', replay.doubleOrders)
  // After another problem, this check would report it again.
  if (problems.length === 0)
    for (const [id, operations] of byPet) note('feed', checkFeedOrder(id, operations, positionOf))
  const { feed: differences, inventory } = checkFinal(calls, replay)
  note('feed', differences)
  note('inventory', inventory)
  return { problems, animals: byPet.size, operations: all.length, events: feed.length }
}

/** There is an order of all requests for an animal that explains every response. */
function checkAnimal(id: number, operations: readonly AnimalOperation[]): string[] {
  const search = linearize(operations, noAnimal, stateText)
  if (search.result === 'found') return []
  if (search.result === 'undecided')
    return [`Animal ${id}: the search among ${operations.length} requests was ended by its bound.`]
  const stuck = search.stuck.map(({ text }) => text).join('\n  ')
  return [
    `Animal ${id}: no order of its ${operations.length} requests explains every response. In the state ${stateText(search.state)} none of these fits:\n  ${stuck}`,
  ]
}

/** The same with the changes in the order of the feed. */
function checkFeedOrder(
  id: number,
  operations: readonly AnimalOperation[],
  positionOf: (operation: AnimalOperation) => number | undefined,
): string[] {
  type Ordered = { readonly state: AnimalState; readonly position: number }
  const positions = [...new Set(operations.map((one) => positionOf(one) ?? 0))].sort((a, b) => a - b)
  const rankOf = new Map(positions.map((position, index) => [position, index]))
  const ordered = operations.map((operation) => {
    const position = positionOf(operation)
    const rank = position === undefined ? undefined : rankOf.get(position)
    return {
      ...operation,
      apply(before: Ordered): Ordered | undefined {
        const state = operation.apply(before.state)
        if (state === undefined || state === before.state) return state && before
        return rank === before.position + 1 ? { state, position: rank } : undefined
      },
    }
  })
  const initial = { state: noAnimal, position: rankOf.has(0) ? 0 : -1 }
  const search = linearize(ordered, initial, ({ state }) => stateText(state))
  if (search.result === 'found') return []
  if (search.result === 'undecided')
    return [`Animal ${id}: the comparison with the feed was ended by its bound.`]
  return [
    `Animal ${id}: the order of its changes in the feed does not explain every response. After event ${positions[search.state.position] ?? 0} none of these fits:\n  ${search.stuck.map(({ text }) => text).join('\n  ')}`,
  ]
}
