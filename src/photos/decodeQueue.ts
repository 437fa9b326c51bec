/** The photo cannot be decoded now. A retry may succeed. */
export class DecoderUnavailableError extends Error {}

export type Uploader = {
  readonly keyId: number
  /** Whether the caller has closed the connection, so that it gets no response. */
  isDisconnected(): boolean
}

export const defaultQueueBounds = {
  /** Photos that wait for the one that is decoded. */
  decodesWaitingMax: 8,
  decodesWaitingPerKeyMax: 2,
}

type Waiting = { readonly uploader: Uploader | undefined; start(): void; reject(error: Error): void }

/**
 * One photo is decoded at a time. Keys take turns, so that one with many photos does not delay the others. The photos of the
 * command `import` have no uploader, and only the bound of all photos.
 */
export class DecodeQueue {
  readonly #bounds: Readonly<typeof defaultQueueBounds>
  /** By the id of the key, in the order of their turns. */
  readonly #waiting = new Map<number | undefined, readonly Waiting[]>()
  #isBusy = false

  constructor(bounds: Readonly<typeof defaultQueueBounds>) {
    this.#bounds = bounds
  }

  /** Resolves when it is the turn of a photo, which calls `leave` after it. */
  async enter(uploader: Uploader | undefined): Promise<void> {
    if (!this.#isBusy) {
      this.#isBusy = true
      return
    }
    this.#rejectDisconnected()
    const { decodesWaitingMax, decodesWaitingPerKeyMax } = this.#bounds
    const own = this.#waiting.get(uploader?.keyId) ?? []
    if (uploader && own.length >= decodesWaitingPerKeyMax)
      throw new DecoderUnavailableError(`${own.length} other photos of this key are waiting.`)
    if (this.#waiting.values().reduce((sum, { length }) => sum + length, 0) >= decodesWaitingMax)
      throw new DecoderUnavailableError('Too many photos are being processed.')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.set(uploader?.keyId, [...own, { uploader, start: resolve, reject }])
    return promise
  }

  leave(): void {
    this.#rejectDisconnected()
    const [next] = this.#waiting
    this.#isBusy = next !== undefined
    if (!next) return
    const [keyId, [first, ...others]] = next
    // A key with more photos waits for the others.
    this.#waiting.delete(keyId)
    if (others.length > 0) this.#waiting.set(keyId, others)
    first?.start()
  }

  /** Rejects the photos that wait and meet the condition. */
  rejectWaiting(reason: string, isRejected: (waiting: Pick<Waiting, 'uploader'>) => boolean): void {
    for (const [keyId, all] of this.#waiting) {
      for (const waiting of all.filter(isRejected)) waiting.reject(new DecoderUnavailableError(reason))
      const others = all.filter((waiting) => !isRejected(waiting))
      if (others.length > 0) this.#waiting.set(keyId, others)
      else this.#waiting.delete(keyId)
    }
  }

  #rejectDisconnected(): void {
    this.rejectWaiting(
      'The caller has closed the connection.',
      ({ uploader }) => uploader?.isDisconnected() ?? false,
    )
  }
}
