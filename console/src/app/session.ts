import { signal } from '@preact/signals'
import { call, handleUnauthorized, setApiKey } from '../api/client.ts'
import { now } from '../api/clock.ts'
import { RequestError, toRequestError } from '../api/errors.ts'
import { restartStream, startStream, stopStream, streamState } from '../api/stream.ts'
import type { KeyWithSecret, Limits, Scope } from '../api/types.ts'

/** The key is in sessionStorage: other tabs do not see it. A tab that is duplicated or reopened can still have it. */
const storageKey = 'petstore.key'

/** A browser can block the storage. Then the session ends with the document. */
function readStorage(): string | null {
  try {
    return sessionStorage.getItem(storageKey)
  } catch {
    return null
  }
}
function writeStorage(key: string | undefined): void {
  try {
    if (key === undefined) sessionStorage.removeItem(storageKey)
    else sessionStorage.setItem(storageKey, key)
  } catch {
    // See above.
  }
}

/** Far longer than a key of any environment. */
const keyLengthMax = 200

/** The key, as the API describes it. Undefined before sign-in and after sign-out. */
export const session = signal<Limits | undefined>(undefined)
/** Why the last session ended or the last sign-in failed. */
export const signInError = signal<RequestError | undefined>(undefined)
/** Why the key of an earlier page load could not be checked. It may still be valid. */
export const restoreError = signal<RequestError | undefined>(undefined)
/** While the key of an earlier page load is checked. */
export const isRestoring = signal(readStorage() !== null)

export const hasScope = (scope: Scope): boolean => session.value?.scopes.includes(scope) ?? false

/** Before sign-in it is known too: the service writes it into the document. */
export const environment: string = document.documentElement.dataset.environment ?? 'production'

const keyPrefixes: Readonly<Record<string, string>> = { production: 'ps_live_', staging: 'ps_test_' }
/** How the keys of this environment begin. */
export const keyPrefix: string = keyPrefixes[environment] ?? ''

type Cleanup = () => void
const cleanups = new Set<Cleanup>()
/** Calls the function at sign-out, to forget what was loaded. */
export const onSignOut = (cleanup: Cleanup): void => void cleanups.add(cleanup)

/** Checks the key with the API and signs in. Sets `signInError` if it cannot be used. */
export async function signIn(text: string): Promise<void> {
  const key = text.trim()
  signInError.value = undefined
  try {
    // Other characters, and longer text, cannot be sent in a header.
    if (!/^[\x21-\x7e]+$/.test(key) || key.length > keyLengthMax)
      throw new RequestError(
        'invalid_api_key',
        `This is not an API key. A key has at most ${keyLengthMax} plain letters, digits and punctuation marks, without spaces.`,
      )
    setApiKey(key)
    const limits = await call('getLimits')
    const blocked = blockedBy(limits)
    if (blocked) throw blocked
    writeStorage(key)
    session.value = limits
    if (limits.scopes.includes('events:read')) startStream()
  } catch (thrown) {
    setApiKey(undefined)
    const error = toRequestError(thrown)
    signInError.value = error.code === 'invalid_api_key' ? (otherEnvironmentError(key) ?? error) : error
  }
}

/** The service does not know the keys of another environment, but their prefix tells it. */
function otherEnvironmentError(key: string): RequestError | undefined {
  const [other] = Object.entries(keyPrefixes).find(([, prefix]) => key.startsWith(prefix)) ?? []
  if (other === undefined || other === environment) return undefined
  return new RequestError(
    'invalid_api_key',
    `This is a key of the ${other} environment, and this is ${environment}. Use a key that starts with ${keyPrefix}.`,
    { status: 401 },
  )
}

/** A key that is banned or has used its allowance can read its limits, and nothing else. */
function blockedBy({ bannedUntil, minute, day }: Limits): RequestError | undefined {
  if (bannedUntil !== null)
    return new RequestError(
      'key_banned',
      'It repeatedly exceeded its rate limit. An operator can lift the ban.',
      { status: 429, retryAt: Date.parse(bannedUntil) },
    )
  for (const [window, name] of [
    [day, 'day'],
    [minute, 'minute'],
  ] as const) {
    if (window.remaining > 0 || window.resetsAt === null || Date.parse(window.resetsAt) <= now()) continue
    return new RequestError(
      'rate_limit_exceeded',
      `This key has used all ${window.limit.toLocaleString('en')} requests of its ${name}.`,
      { status: 429, retryAt: Date.parse(window.resetsAt) },
    )
  }
  return undefined
}

/** Takes over changes of the signed-in key, such as its scopes. */
export async function refreshSession(): Promise<void> {
  session.value = await call('getLimits')
}

let isRotating = false

/**
 * Rotates the signed-in key and goes on with its new secret. The previous one may end before the response arrives. Until
 * then, other requests that are rejected do not end the session: the new secret would be lost.
 */
export async function rotateOwnKey(rotate: () => Promise<KeyWithSecret>): Promise<KeyWithSecret> {
  isRotating = true
  try {
    const rotated = await rotate()
    setApiKey(rotated.key)
    writeStorage(rotated.key)
    if (streamState.value === 'rejected') restartStream()
    return rotated
  } finally {
    isRotating = false
  }
}

export function signOut(reason?: RequestError): void {
  writeStorage(undefined)
  stopStream()
  for (const cleanup of cleanups) cleanup()
  setApiKey(undefined)
  session.value = undefined
  restoreError.value = undefined
  signInError.value = reason
}

/** Signs in with the key of an earlier page load of this tab. */
export async function restoreSession(): Promise<void> {
  const key = readStorage()
  restoreError.value = undefined
  if (key !== null) {
    isRestoring.value = true
    await signIn(key)
    const error = signInError.value
    if (error?.status === 401 || error?.status === 403) writeStorage(undefined)
    // The service cannot be reached, or the key is limited. That ends.
    else if (error) restoreError.value = error
  }
  isRestoring.value = false
}

handleUnauthorized((error) => {
  if (session.value && !isRotating) signOut(error)
})
