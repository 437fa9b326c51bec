import { Petstore } from '../../../client/src/index.ts'
import { learnTime } from './clock.ts'
import { type RequestError, toRequestError } from './errors.ts'

const timeoutMs = 20_000

/** The client of the API with the key of the session. Undefined before the first sign-in. */
export let store: Petstore
let apiKey: string | undefined
let session = new AbortController()
let onKeyRejected: (error: RequestError) => void = () => {}

export const currentApiKey = (): string | undefined => apiKey

/** Called when the API rejects the key itself. */
export function handleKeyRejected(handler: (error: RequestError) => void): void {
  onKeyRejected = handler
}

/** Sends this key with all requests from now on. It is sent as a header and nowhere else. */
export function openStore(key: string): void {
  const opened = new Petstore({
    baseUrl: '/v1',
    apiKey: key,
    timeoutMs,
    // The person decides what is sent again, and when.
    maxRetries: 0,
    pauseOnRateLimit: false,
    signal: session.signal,
    async fetch(url, init) {
      const response = await fetch(url, { ...init, cache: 'no-store', credentials: 'omit' })
      learnTime(response.headers.get('date'))
      return response
    },
    onKeyRejected(error) {
      // A late response to a request with an earlier secret says nothing about the current one.
      if (opened === store) onKeyRejected(toRequestError(error))
    },
  })
  store = opened
  apiKey = key
}

/** Ends all requests: the next session must not see what this one has loaded. */
export function closeStore(): void {
  apiKey = undefined
  session.abort(new DOMException('The session has ended.', 'AbortError'))
  session = new AbortController()
}
