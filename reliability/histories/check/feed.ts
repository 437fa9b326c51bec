import { type Call, describeCall, isFinal } from '../history.ts'
import { petText } from './animal.ts'
import type { AnimalOperation } from './operations.ts'
import { type Event, eventsIn, isSuccess, queryOf, requestOf } from './requests.ts'

const isFeedRead = (call: Call) => requestOf(call).kind === 'events' && isSuccess(call)

/** The whole feed, as the first instance shows it at the end. */
export function finalFeed(calls: readonly Call[]): Event[] {
  const reads = calls.filter((call) => isFinal(call) && isFeedRead(call))
  return reads.filter(({ caller }) => caller === reads[0]?.caller).flatMap(eventsIn)
}

/** Each page that a reader got is the part of the feed after the position that it asked for. */
export function checkPages(calls: readonly Call[], feed: readonly Event[]): string[] {
  const problems = feed.flatMap(({ id }, index) => {
    const previous = index === 0 ? 0 : (feed[index - 1]?.id ?? 0)
    return id === previous + 1 ? [] : [`The feed ${stepText(previous, id)}.`]
  })
  const texts = feed.map(eventText)
  for (const call of calls.filter(isFeedRead)) {
    const after = Number(queryOf(call).get('after') ?? 0)
    const wrong = eventsIn(call).findIndex((event, index) => eventText(event) !== texts[after + index])
    const event = eventsIn(call)[wrong]
    if (!event) continue
    const previous = wrong === 0 ? after : (eventsIn(call)[wrong - 1]?.id ?? 0)
    const reason =
      event.id === previous + 1
        ? `shows an event ${event.id} that the feed has not at the end: ${eventText(event)}, not ${texts[event.id - 1]}`
        : stepText(previous, event.id)
    problems.push(`A page of the feed ${reason}: ${describeCall(call)}`)
  }
  return problems
}

const eventText = ({ id, type, createdAt, data }: Event) =>
  `${id} ${type} ${createdAt} ${JSON.stringify(data)}`

function stepText(previous: number, next: number): string {
  if (next === previous) return `has the position ${next} twice`
  return next < previous
    ? `goes back from ${previous} to ${next}`
    : `has a gap between ${previous} and ${next}`
}

/** An event with the requests that may have caused it. */
export type Change = {
  readonly event: Event
  readonly startedAt: number
  /** When a response had confirmed it. Infinite without one. */
  readonly endedAt: number
  readonly causes: readonly AnimalOperation[]
}

const ownTypes = /^(?:pet|order)\./

/** The key that an event and its operation share. */
const keyOf = (petId: number, type: string, subject: string) => `${petId} ${type} ${subject}`

/** Finds the requests of every event, and the events of every request that succeeded. */
export function matchChanges(feed: readonly Event[], operations: Iterable<AnimalOperation>) {
  const byKey = Map.groupBy(
    [...operations].filter(({ event }) => event !== undefined),
    ({ petId, event }) => keyOf(petId, event?.type ?? '', event?.subject ?? ''),
  )
  const changes: Change[] = []
  const problems: string[] = []
  const positions = new Map<string, number>()
  const names = new Map<number, string>()
  for (const event of feed) {
    if (!ownTypes.test(event.type)) continue
    const { petId, subject } = subjectOf(event)
    const previousName = names.get(petId)
    if (event.type.startsWith('pet.')) names.set(petId, subject)
    // The change of status that follows from an order: the replay checks it.
    if (event.type === 'pet.updated' && subject === previousName) continue
    const key = keyOf(petId, event.type, subject)
    const text = `Event ${event.id} (${event.type} ${JSON.stringify(event.data)})`
    const causes = (byKey.get(key) ?? []).filter(
      ({ isSuccess: is, endedAt }) => is || !Number.isFinite(endedAt),
    )
    if (positions.has(key)) problems.push(`${text} repeats the change of event ${positions.get(key)}.`)
    else if (causes.length === 0) problems.push(`${text} is not the change of any request that succeeded.`)
    else {
      changes.push(changeOf(event, causes))
      const other = causes.find(
        ({ result }) => result !== undefined && result !== petText(event.data as never),
      )
      if (other) problems.push(`${text} has other data than the response to ${other.text}`)
    }
    positions.set(key, event.id)
  }
  for (const [key, candidates] of byKey) {
    const missing = candidates.find(({ isSuccess: is }) => is)
    if (missing && !positions.has(key)) problems.push(`The feed has no event for ${missing.text}`)
  }
  return {
    changes,
    problems,
    positionOf: (operation: AnimalOperation) => positions.get(keyOfOperation(operation)),
  }
}

const keyOfOperation = ({ petId, event }: AnimalOperation) =>
  event ? keyOf(petId, event.type, event.subject) : ''

function subjectOf({ type, data }: Event): { petId: number; subject: string } {
  if (type.startsWith('order.')) return { petId: Number(data.petId), subject: String(data.id) }
  return { petId: Number(data.id), subject: type === 'pet.deleted' ? '' : String(data.name) }
}

const changeOf = (event: Event, causes: readonly AnimalOperation[]): Change => ({
  event,
  causes,
  startedAt: Math.min(...causes.map(({ startedAt }) => startedAt)),
  endedAt: Math.min(...causes.map(({ endedAt }) => endedAt)),
})

const describeChange = ({ event, causes }: Change) => `event ${event.id} of ${causes[0]?.text}`

/** A change that was confirmed before another one began comes before it in the feed. */
export function checkOrder(changes: readonly Change[]): string[] {
  const problems: string[] = []
  forEachAfterConfirmed(changes, changes, (later, latest) => {
    if (latest.event.id > later.event.id)
      problems.push(
        `In the feed, ${describeChange(later)} comes before ${describeChange(latest)}, which had ended when it began.`,
      )
  })
  return problems
}

/** A read of the feed up to its end shows every change that was confirmed before. */
export function checkFeedReads(calls: readonly Call[], changes: readonly Change[]): string[] {
  const problems: string[] = []
  const toEnd = calls.filter(
    (call) => isFeedRead(call) && eventsIn(call).length < Number(queryOf(call).get('limit') ?? 0),
  )
  forEachAfterConfirmed(toEnd, changes, (read, latest) => {
    const last = eventsIn(read).at(-1)?.id ?? Number(queryOf(read).get('after') ?? 0)
    if (last < latest.event.id)
      problems.push(
        `A read of the feed lacks ${describeChange(latest)}, which had ended before: ${describeCall(read)}`,
      )
  })
  return problems
}

/** Calls `look` with each item and the change of the highest position that was confirmed before the item began. */
function forEachAfterConfirmed<T extends { readonly startedAt: number }>(
  items: readonly T[],
  changes: readonly Change[],
  look: (item: T, latest: Change) => void,
): void {
  const ended = changes.toSorted((a, b) => a.endedAt - b.endedAt)
  let next = 0
  let latest: Change | undefined
  for (const item of items.toSorted((a, b) => a.startedAt - b.startedAt)) {
    for (let change = ended[next]; change && change.endedAt < item.startedAt; change = ended[++next])
      if (!latest || change.event.id > latest.event.id) latest = change
    if (latest) look(item, latest)
  }
}
