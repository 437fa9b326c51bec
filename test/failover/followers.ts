import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { type EventStreamClient, openEventStream } from '../support/eventStreamClient.ts'
import { type Caller, isBusy } from '../support/fleet.ts'
import type { Event } from '../support/instances.ts'
import type { Server } from '../support/servers.ts'

const lookEveryMs = 50
const pageMax = 1_000

type AnyEvent = Pick<Event, 'id' | 'type'> & { data: unknown }

export const eventText = ({ id, type, data }: AnyEvent): string => `${id} ${type} ${JSON.stringify(data)}`

/** What a client has seen that reads the feed from its begin. Every position must come once, in order. */
export class Follower {
  readonly name: string
  readonly seen: string[] = []
  /** How often a stream was opened. */
  opened = 0

  constructor(name: string) {
    this.name = name
  }

  take(events: readonly AnyEvent[]): void {
    for (const event of events) {
      assert.equal(event.id, this.seen.length + 1, `${this.name}: the next position`)
      this.seen.push(eventText(event))
    }
  }
}

/** Reads page after page. */
export async function followPages(follower: Follower, caller: Caller, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const path = `/v1/events?after=${follower.seen.length}&limit=${pageMax}`
    const response = await caller.attempt('GET', path)
    if (response?.status === 200) follower.take(response.json)
    else assert.ok(response && isBusy(response), `${follower.name}: ${response?.status} ${response?.text}`)
    await pause(lookEveryMs)
  }
}

/** Reads a stream. If it ends, the next one resumes after the last event. */
export async function followStream(
  follower: Follower,
  { base }: Server,
  key: string,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const headers = { 'last-event-id': String(follower.seen.length) }
    const stream = await openEventStream(base, { key, headers })
    if (stream.status === 200) {
      follower.opened++
      await takeAll(follower, stream, isOver)
    } else assert.equal(stream.status, 503, `${follower.name}: ${stream.status}`)
    stream.disconnect()
    await pause(lookEveryMs)
  }
}

async function takeAll(follower: Follower, stream: EventStreamClient, isOver: () => boolean): Promise<void> {
  let hasEnded = false
  void stream.ended.then(() => {
    hasEnded = true
  })
  for (let taken = 0; ; ) {
    const isLast = hasEnded || isOver()
    const events = stream.events.slice(taken)
    follower.take(events)
    taken += events.length
    if (isLast) return
    await pause(lookEveryMs)
  }
}
