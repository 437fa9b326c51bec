import { type Call, describeCall } from '../history.ts'
import { isOpen } from './animal.ts'
import { isSuccess, orderIn, ordersIn, requestOf } from './requests.ts'

type OpenTime = { readonly call: Call; readonly from: number; readonly to: number }

/** By lists, and by the times in which orders were open for certain. */
export function checkOpenOrders(calls: readonly Call[]): string[] {
  const problems: string[] = []
  for (const call of calls) {
    if (requestOf(call).kind !== 'orders' || !isSuccess(call)) continue
    const open = ordersIn(call).filter(({ status }) => isOpen(status))
    for (const [petId, orders] of Map.groupBy(open, (order) => order.petId))
      if (orders.length > 1)
        problems.push(`A list shows ${orders.length} open orders for animal ${petId}: ${describeCall(call)}`)
  }
  for (const [petId, times] of openTimes(calls)) {
    let latest: OpenTime | undefined
    for (const time of times.toSorted((a, b) => a.from - b.from)) {
      if (latest && time.from < latest.to)
        problems.push(
          `Two orders for animal ${petId} were open at the same time: ${describeCall(latest.call)} and ${describeCall(time.call)}`,
        )
      if (!latest || time.to > latest.to) latest = time
    }
  }
  return problems
}

/** An order is open for certain from its response until the first request that may end it begins. */
function openTimes(calls: readonly Call[]): Map<number, OpenTime[]> {
  const endings = new Map<number, number>()
  for (const call of calls) {
    const request = requestOf(call)
    if (request.kind !== 'move' || call.body?.status === 'approved' || call.outcome === 'failed') continue
    if (call.outcome === 'known' && !isSuccess(call)) continue
    const earliest = endings.get(request.orderId) ?? Number.POSITIVE_INFINITY
    endings.set(request.orderId, Math.min(earliest, call.startedAt))
  }
  const placed = calls.filter(
    (call) => requestOf(call).kind === 'place' && isSuccess(call) && call.response?.isReplayed !== true,
  )
  const times = placed.map((call) => {
    const { id, petId } = orderIn(call)
    return { petId, call, from: call.endedAt, to: endings.get(id) ?? Number.POSITIVE_INFINITY }
  })
  return Map.groupBy(times, ({ petId }) => petId)
}
