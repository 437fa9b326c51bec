import { type Call, describeCall, isFinal } from '../history.ts'
import { petText } from './animal.ts'
import type { Replay } from './replay.ts'
import { isSuccess, ordersIn, petsIn, requestOf } from './requests.ts'

/** After the last change, each instance shows what the feed leads to, and an inventory that is equal to a count. */
export function checkFinal(calls: readonly Call[], replay: Replay): { feed: string[]; inventory: string[] } {
  const byInstance = Map.groupBy(
    calls.filter((call) => isFinal(call) && isSuccess(call)),
    ({ caller }) => caller,
  )
  const feed: string[] = []
  const inventory: string[] = []
  for (const [caller, reads] of byInstance) {
    const of = (kind: string) => reads.filter((call) => requestOf(call).kind === kind)
    const pets = of('list').flatMap(petsIn)
    const orders = of('orders').flatMap(ordersIn)
    const counts: Record<string, number> = { available: 0, pending: 0, sold: 0 }
    for (const { status } of pets) counts[status] = (counts[status] ?? 0) + 1
    for (const call of of('inventory'))
      if (JSON.stringify(call.response?.body) !== JSON.stringify(counts))
        inventory.push(`The count is ${JSON.stringify(counts)}: ${describeCall(call)}`)
    const text = ({ id, petId, status }: { id: number; petId: number; status: string }) =>
      JSON.stringify([id, petId, status])
    feed.push(
      ...differences(caller, pets.map(petText), replay.pets.values().map(petText)),
      ...differences(
        caller,
        orders.map(text),
        replay.orders.entries().map(([id, order]) => text({ id, ...order })),
      ),
    )
  }
  return { feed, inventory }
}

function differences(caller: string, listed: Iterable<string>, replayed: Iterable<string>): string[] {
  const [inLists, inFeed] = [new Set(listed), new Set(replayed)]
  return [
    ...[...inLists.difference(inFeed)].map(
      (text) => `The lists of ${caller} have ${text}, the replayed feed has not.`,
    ),
    ...[...inFeed.difference(inLists)].map(
      (text) => `The replayed feed has ${text}, the lists of ${caller} have not.`,
    ),
  ]
}
