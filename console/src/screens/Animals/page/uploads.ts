import { signal } from '@preact/signals'
import { type Int64, PetstoreError, Submission } from '../../../../../client/src/index.ts'
import { isAbort, toRequestError } from '../../../app/errors.ts'
import { store } from '../../../app/store.ts'
import { showError } from '../../../app/toasts.ts'
import { withNames } from '../../../components/Name.tsx'
import { reducedImage } from './reduceImage.ts'

export type Upload = {
  readonly id: number
  readonly name: string
  readonly state: 'queued' | 'uploading' | 'done' | 'failed'
  /** Why it failed. */
  readonly message?: string
}

type Job = {
  readonly file: File
  /** A retry after a lost response does not add the photo twice. */
  readonly submission: Submission
  /** What is sent. A retry sends the same bytes. */
  body?: Blob
}

/** How long an upload that is done is shown. */
const doneMs = 4_000
/** How long an upload waits while the service is busy. The client of the console does not retry. */
const busyMaxMs = 120_000
const retryMs = 1_000

/**
 * Files that are added as photos of an animal, one after the other, so that the photos have the order of the files. They go
 * on when another screen is shown.
 */
export class Uploads {
  readonly items = signal<readonly Upload[]>([])
  /** Otherwise a toast says what has failed. */
  isShown = true
  readonly #petId: Int64
  readonly #onAdded: () => void
  readonly #jobs = new Map<number, Job>()
  #lastId = 0

  constructor(petId: Int64, onAdded: () => void) {
    this.#petId = petId
    this.#onAdded = onAdded
  }

  add(files: Iterable<File>): void {
    const added = [...files].map((file): Upload => {
      const id = ++this.#lastId
      this.#jobs.set(id, { file, submission: new Submission() })
      return { id, name: file.name, state: 'queued' }
    })
    this.items.value = [...this.items.value, ...added]
    this.#startNext()
  }

  get isBusy(): boolean {
    return this.items.peek().some(({ state }) => state === 'queued' || state === 'uploading')
  }

  retry(id: number): void {
    this.#set(id, 'queued')
    this.#startNext()
  }

  dismiss(id: number): void {
    this.#jobs.delete(id)
    this.items.value = this.items.value.filter((item) => item.id !== id)
  }

  #set(id: number, state: Upload['state'], message?: string): void {
    this.items.value = this.items.value.map((item) =>
      item.id === id ? { id, name: item.name, state, ...(message !== undefined && { message }) } : item,
    )
  }

  #startNext(): void {
    const items = this.items.peek()
    const next = items.find(({ state }) => state === 'queued')
    if (next && !items.some(({ state }) => state === 'uploading')) void this.#run(next.id)
  }

  async #run(id: number): Promise<void> {
    const job = this.#jobs.get(id)
    if (!job) return
    this.#set(id, 'uploading')
    try {
      job.body ??= await reducedImage(job.file)
      await this.#send(job.body, job.submission)
      this.#jobs.delete(id)
      this.#set(id, 'done')
      setTimeout(() => this.dismiss(id), doneMs)
      this.#onAdded()
    } catch (thrown) {
      if (isAbort(thrown)) return
      const error = toRequestError(thrown)
      const message = error.code === 'pet_not_found' ? 'Someone else has removed this animal.' : error.message
      this.#set(id, 'failed', message)
      if (!this.isShown) showError([withNames`${job.file.name} was not added. `, message])
    }
    this.#startNext()
  }

  /** While the service processes photos of others, the upload waits for its turn. */
  async #send(body: Blob, submission: Submission): Promise<void> {
    // That of this session: another person may have signed in when the wait is over.
    const { photos } = store.pets
    const deadline = performance.now() + busyMaxMs
    for (;;) {
      try {
        await photos.add(this.#petId, body, { submission })
        return
      } catch (error) {
        const isBusy = error instanceof PetstoreError && error.code === 'unavailable'
        if (!isBusy || performance.now() > deadline) throw error
        await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? retryMs))
      }
    }
  }
}
