import { computed, signal } from '@preact/signals'
import type { Int64, Photo } from '../../../../../client/src/index.ts'
import { moved } from '../../../../../src/photos/photo.ts'
import { isAbort, toRequestError } from '../../../app/errors.ts'
import { store } from '../../../app/store.ts'
import { showError } from '../../../app/toasts.ts'
import { runWithUndo } from '../../../app/undo.ts'

/** The file of a photo, from this service: the policy of the console allows no other. */
export const photoPath = (photo: Photo, size: 320 | 640 | 1600): string =>
  new URL(photo.urls[size], location.origin).pathname

/** The photos of an animal, with changes that are shown before they are confirmed. */
export class PetPhotos {
  readonly #petId: Int64
  readonly #reload: () => void
  readonly #all = signal<readonly Photo[]>([])
  /** Photos whose removal can still be undone. */
  readonly #removals = signal<ReadonlySet<string>>(new Set())
  /** Moves are sent one after the other. */
  #moves = Promise.resolve()
  #pendingMoves = 0
  /** What has happened, for screen readers. */
  readonly announcement = signal('')
  readonly shown = computed(() => this.#all.value.filter(({ id }) => !this.#removals.value.has(id)))

  constructor(petId: Int64, photos: readonly Photo[], reload: () => void) {
    this.#petId = petId
    this.#reload = reload
    this.#all.value = photos
  }

  /** Takes over what was loaded. While photos are moved, it is out of date. */
  receive(photos: readonly Photo[]): void {
    if (this.#pendingMoves === 0) this.#all.value = photos
  }

  /** Moves a photo to the place of another one. */
  move(photo: Photo, place: number): void {
    const shown = this.shown.peek()
    const target = shown[place]
    if (!target || target.id === photo.id) return
    const from = this.#all.peek().findIndex(({ id }) => id === photo.id)
    const to = this.#all.peek().findIndex(({ id }) => id === target.id)
    this.#all.value = moved(this.#all.peek(), from, to)
    this.announcement.value = `The photo is now number ${place + 1} of ${shown.length}.`
    this.#pendingMoves++
    this.#moves = this.#moves.then(() => this.#sendMove(photo, to))
  }

  async #sendMove(photo: Photo, position: number): Promise<void> {
    try {
      await store.pets.photos.update(this.#petId, photo.id, { position })
    } catch (thrown) {
      if (!isAbort(thrown)) showError(`The photo was not moved. ${toRequestError(thrown).message}`)
    }
    if (--this.#pendingMoves === 0) this.#reload()
  }

  /** Hides the photo now, and removes it when the undo time ends. */
  remove(photo: Photo): void {
    const setHidden = (isHidden: boolean) => {
      const rest = [...this.#removals.peek()].filter((id) => id !== photo.id)
      this.#removals.value = new Set(isHidden ? [...rest, photo.id] : rest)
    }
    const send = async (isLeaving: boolean) => {
      try {
        await store.pets.photos.delete(this.#petId, photo.id, { keepalive: isLeaving })
        this.#all.value = this.#all.peek().filter(({ id }) => id !== photo.id)
        this.#reload()
      } catch (thrown) {
        const { code, message } = toRequestError(thrown)
        if (code !== 'photo_not_found' && !isAbort(thrown)) showError(`The photo was not removed. ${message}`)
      }
      setHidden(false)
    }
    setHidden(true)
    runWithUndo({
      text: 'Photo removed.',
      undo: () => setHidden(false),
      commit: (isLeaving) => void send(isLeaving),
    })
  }
}
