import { signal } from '@preact/signals'
import type { Event as StoreEvent } from '../../../../client/src/index.ts'
import { isAbort, RequestError, toRequestError } from '../../app/errors.ts'
import { newestFirst } from '../../app/ids.ts'
import { petName } from '../../app/petNames.ts'
import { store } from '../../app/store.ts'
import { followEvents, newestEventId, streamError, streamReady } from '../../app/stream.ts'
import type { IconName } from '../../components/Icon.tsx'

/** The latest events, newest first. */

const shownMax = 9
/** Some ids in this range may belong to events that the key cannot read. */
const idsRead = 60

export class LatestEvents {
  readonly events = signal<readonly StoreEvent[] | undefined>(undefined)
  readonly error = signal<RequestError | undefined>(undefined)
  #controller = new AbortController()

  follow(): () => void {
    const end = followEvents(
      (event) => this.#add([event]),
      () => void this.load(),
    )
    void this.load()
    return () => {
      end()
      this.#controller.abort()
    }
  }

  async load(): Promise<void> {
    this.#controller.abort()
    this.#controller = new AbortController()
    const { signal } = this.#controller
    try {
      await streamReady()
      const newest = newestEventId()
      // Without the stream the id of the newest event is unknown. When it opens, `load` is called again.
      if (newest === undefined)
        throw streamError.value ?? new RequestError('connection_failed', 'The event stream is not open.')
      const query = { after: Math.max(0, newest - idsRead), limit: 100 }
      const list = store.events.list(query, { signal })
      const { items } = await list.page().catch((thrown: unknown) => {
        // No event of this range is left.
        if (toRequestError(thrown).code === 'events_expired') return { items: [] }
        throw thrown
      })
      if (signal.aborted) return
      this.error.value = undefined
      this.#add(items)
    } catch (thrown) {
      if (!isAbort(thrown) && !signal.aborted) this.error.value = toRequestError(thrown)
    }
  }

  #add(events: readonly StoreEvent[]): void {
    const byId = new Map([...(this.events.value ?? []), ...events].map((event) => [event.id, event]))
    this.events.value = [...byId.values()].sort(newestFirst).slice(0, shownMax)
  }
}

/** What happened, as the parts of a sentence: "Order 5", for "Milo", "was placed". */
type EventDescription = { icon: IconName; name: string; animal?: string; text: string }

export function describeEvent(event: StoreEvent): EventDescription {
  switch (event.type) {
    case 'pet.created':
      return { icon: 'paw', name: event.data.name, text: 'was added' }
    case 'pet.updated':
      return { icon: 'paw', name: event.data.name, text: `was changed, now ${event.data.status}` }
    case 'pet.deleted':
      return { icon: 'paw', name: `Animal ${event.data.id}`, text: 'was removed' }
    case 'profile.updated':
      return { icon: 'paw', name: 'Profile', animal: petName(event.data.petId), text: 'was changed' }
    case 'photo.added':
    case 'photo.updated':
    case 'photo.removed':
      return {
        icon: 'photo',
        name: 'Photo',
        animal: petName(event.data.petId),
        text: event.type === 'photo.updated' ? 'was changed' : `was ${event.type.slice('photo.'.length)}`,
      }
    case 'order.placed':
    case 'order.approved':
    case 'order.delivered':
    case 'order.cancelled':
      return {
        icon: 'orders',
        name: `Order ${event.data.id}`,
        animal: petName(event.data.petId),
        text: `was ${event.type.slice('order.'.length)}`,
      }
    case 'category.created':
    case 'category.updated':
      return {
        icon: 'overview',
        name: event.data.name ?? `Category ${event.data.id}`,
        text: event.type === 'category.created' ? 'was added as a category' : 'is the new name of a category',
      }
    case 'category.deleted':
      return { icon: 'overview', name: `Category ${event.data.id}`, text: 'was removed' }
    case 'store.updated':
      return { icon: 'store', name: 'Store profile', text: 'was changed' }
    case 'key.created':
    case 'key.revoked':
      return { icon: 'key', name: `Key ${event.data.name}`, text: `was ${event.type.slice('key.'.length)}` }
    case 'key.updated':
      return { icon: 'key', name: `Key ${event.data.name}`, text: 'was changed' }
    case 'key.banned':
      return { icon: 'key', name: `Key ${event.data.id}`, text: 'was banned' }
    default:
      return { icon: 'alert', name: (event as StoreEvent).type, text: '' }
  }
}
