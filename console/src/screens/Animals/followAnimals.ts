import type { Int64 } from '../../../../client/src/index.ts'
import { toRequestError } from '../../app/errors.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'
import { toAnimal, withoutProfile } from './animal.ts'
import { highlight, type PetList, pageSize, putPet, shownLists } from './animalList.ts'
import { type Filters, isFiltered, viewQuery } from './filters.ts'

/** What others change while the list is shown. */

/** Changes of this time are read together. */
const collectMs = 300
/** A search finds a change when it is indexed. */
const searchCollectMs = 2_000
/** Single animals that are read at a time. The others wait. */
const readsMax = 4
/** If more animals wait, the first pages are read instead. */
const waitingMax = 20
const pagesRead = 2

/** Keeps the list current while it is shown. Returns a function that ends it. */
export function followAnimals(list: PetList, filters: Filters): () => void {
  const isSearch = filters.q.trim() !== ''
  const changes = new ChangedAnimals(list, isSearch)
  const end = followEvents(
    (event) => {
      if (event.type === 'pet.deleted') {
        list.remove(event.data.id)
        changes.note(event.data.id)
      } else if (event.type === 'pet.created' || event.type === 'pet.updated') {
        const { data: pet } = event
        changes.note(pet.id)
        const isShown = list.find(pet.id) !== undefined
        // It has no profile yet, so only the API can tell whether it meets filters.
        const isAdded = event.type === 'pet.created' && !isFiltered(filters)
        if (isShown) putPet(list, pet)
        else if (isAdded) list.upsert(withoutProfile(pet))
        // A response that is on its way may contain the animal as it was.
        if (isSearch || !(isShown || isAdded)) changes.add(pet.id)
        highlight(pet.id)
      } else if (event.type.startsWith('profile.') || event.type.startsWith('photo.'))
        changes.add((event.data as { petId: Int64 }).petId)
    },
    () => void list.reload(),
  )
  shownLists.add(list)
  return () => {
    shownLists.delete(list)
    changes.end()
    end()
  }
}

/** Animals whose listings are read again, a few at a time. */
class ChangedAnimals {
  readonly #list: PetList
  readonly #isSearch: boolean
  readonly #waiting = new Set<Int64>()
  /** The animal that is read, and whether an event has changed it since then. */
  #reading: Int64 | undefined
  #isStale = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #isEnded = false

  constructor(list: PetList, isSearch: boolean) {
    this.#list = list
    this.#isSearch = isSearch
  }

  add(id: Int64): void {
    if (!this.#isSearch && !this.#list.covers(id)) return
    this.#waiting.add(id)
    this.note(id)
    this.#timer ??= setTimeout(() => void this.#run(), this.#isSearch ? searchCollectMs : collectMs)
  }

  /** The response of a read that runs may be older than a change. */
  note(id: Int64): void {
    if (id === this.#reading) this.#isStale = true
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    if (this.#isSearch || this.#waiting.size > waitingMax) await this.#readPages()
    else for (const id of [...this.#waiting].slice(0, readsMax)) await this.#read(id)
    this.#timer = undefined
    const [next] = this.#waiting
    if (next !== undefined && !this.#isEnded) this.add(next)
  }

  async #readPages(): Promise<void> {
    this.#waiting.clear()
    const { length } = this.#list.size.peek()
    // Only a reload shows that an animal no longer matches a search. It would lose the later pages.
    if (this.#isSearch && length > 0 && length <= pageSize) await this.#list.reload()
    else await this.#list.refresh(pagesRead)
  }

  async #read(id: Int64): Promise<void> {
    this.#waiting.delete(id)
    this.#reading = id
    this.#isStale = false
    try {
      const animal = toAnimal(await store.listings.get(id, viewQuery()))
      if (this.#isEnded) return
      if (this.#isStale) this.#waiting.add(id)
      else {
        this.#list.upsert(animal)
        highlight(id)
      }
    } catch (thrown) {
      // Other errors leave the animal as it is shown.
      if (toRequestError(thrown).status === 404) this.#list.remove(id)
    }
  }
}
