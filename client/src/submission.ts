/**
 * A form that can be sent again, for `CreateOptions`. If the response to its request was lost, the next call with the same
 * request has the same `Idempotency-Key`, so that the change is not repeated. A response that was received ends that:
 * otherwise the service would repeat the response.
 */
export class Submission {
  #request: string | undefined
  #key = ''

  /** @internal */
  keyFor(request: string): string {
    if (request !== this.#request) this.#key = randomKey()
    this.#request = request
    return this.#key
  }

  /** @internal */
  settle(): void {
    this.#request = undefined
  }
}

/** `crypto.randomUUID` exists only in secure contexts of a browser. */
export const randomKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )
