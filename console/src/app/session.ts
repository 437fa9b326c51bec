import { signal } from '@preact/signals'
import type { KeyWithSecret, Limits, Scope } from '../../../client/src/index.ts'
import { unusedDaysMax } from '../../../src/pages/browserStorage.ts'
import { blockedBy } from './blockedBy.ts'
import { RequestError, toRequestError } from './errors.ts'
import { forgetEdits } from './keptEdits.ts'
import { forgetKeptKey, keepKey, readKeptKey, readTabKey, recordUse, writeTabKey } from './keyStorage.ts'
import { closeStore, currentApiKey, handleKeyRejected, openStore, store } from './store.ts'
import { restartStream, startStream, stopStream, streamState } from './stream.ts'
import { showToast } from './toasts.ts'

/** The longest PETSTORE_ADMIN_KEY. Every other key is shorter. */
const keyLengthMax = 255

/** The key, as the API describes it. Undefined before sign-in and after sign-out. */
export const session = signal<Limits | undefined>(undefined)
/** Why the last session ended or the last sign-in failed. */
export const signInError = signal<RequestError | undefined>(undefined)
/** Why the key of an earlier page load could not be checked. It may still be valid. */
export const restoreError = signal<RequestError | undefined>(undefined)
/** While the key of an earlier page load is checked. */
export const isRestoring = signal((readTabKey() ?? readKeptKey()) !== undefined)

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

/** The key that this tab shares with all tabs of the device. Undefined if the session is that of this tab alone. */
let keptKey: string | undefined
/** A sign-in is not interrupted by one in another tab. */
let isSigningIn = false

/** Checks the key with the API and signs in. Sets `signInError` if it cannot be used. */
export async function signIn(text: string, { isKept = false } = {}): Promise<void> {
  const key = text.trim()
  signInError.value = undefined
  isSigningIn = true
  try {
    // Other characters, and longer text, cannot be sent in a header.
    if (!/^[\x21-\x7e]+$/.test(key) || key.length > keyLengthMax)
      throw new RequestError(
        'invalid_api_key',
        `This is not an API key. A key has at most ${keyLengthMax} plain letters, digits and punctuation marks, without spaces.`,
      )
    openStore(key)
    const limits = await store.limits.get()
    const blocked = blockedBy(limits)
    if (blocked) throw blocked
    storeKey(key, isKept, limits)
    session.value = limits
    if (limits.scopes.includes('events:read')) startStream()
  } catch (thrown) {
    closeStore()
    const error = toRequestError(thrown)
    signInError.value = error.code === 'invalid_api_key' ? (otherEnvironmentError(key) ?? error) : error
  } finally {
    isSigningIn = false
  }
}

const canManageKeys = ({ scopes }: Limits): boolean => scopes.includes('keys:manage')

/** Stores the key for this tab, or for all tabs of the device. */
function storeKey(key: string, isKept: boolean, limits: Limits): void {
  const isAllowed = !canManageKeys(limits)
  // A restored key is not written again: it may have been removed during the check.
  const isStored = isKept && isAllowed && (keptKey === key || keepKey(key))
  if (isKept && !isAllowed) forgetKept(key)
  keptKey = isStored ? key : undefined
  writeTabKey(isStored ? undefined : key)
  if (isStored) recordUse()
  else if (isKept) showToast(isAllowed ? blockedText : managesKeysText, { durationMs: reasonMs })
}

/** Long enough to read two sentences. */
const reasonMs = 20_000
const managesKeysText =
  'You are signed in only in this tab. A key that can manage keys is never kept on a device: everyone who uses the browser could create keys with it.'
const blockedText = 'You are signed in only in this tab. The browser does not let the console store the key.'

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

/** Takes over changes of the signed-in key, such as its scopes. */
export async function refreshSession(signal?: AbortSignal): Promise<Limits> {
  const limits = await store.limits.get({ signal })
  // Another tab may have learned of the change first, and removed the key.
  endIfRemoved()
  const key = currentApiKey()
  // The session has ended, or a proxy has changed the body.
  if (key === undefined || !Array.isArray(limits.scopes)) return limits
  if (keptKey !== undefined && canManageKeys(limits)) storeKey(key, true, limits)
  session.value = limits
  return limits
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
    openStore(rotated.key)
    writeTabKey(rotated.key)
    if (streamState.value === 'rejected') restartStream()
    return rotated
  } finally {
    isRotating = false
  }
}

/** Ends the session of this tab, and the one that all tabs of the device share. */
export function signOut(): void {
  forgetKeptKey()
  forgetEdits()
  endSession(undefined)
}

function endSession(reason: RequestError | undefined): void {
  writeTabKey(undefined)
  keptKey = undefined
  stopStream()
  for (const cleanup of cleanups) cleanup()
  closeStore()
  session.value = undefined
  restoreError.value = undefined
  signInError.value = reason
}

/** Another key that is kept in the meantime stays. */
function forgetKept(key: string | undefined): void {
  if (readKeptKey()?.key === key) forgetKeptKey()
}

/** Signs in with the key of an earlier page load of this tab, or with the one that the device keeps. */
export async function restoreSession(): Promise<void> {
  restoreError.value = undefined
  const tabKey = readTabKey()
  if (tabKey === undefined) endExpired()
  keptKey = tabKey === undefined ? readKeptKey()?.key : undefined
  const key = tabKey ?? keptKey
  if (key !== undefined) {
    isRestoring.value = true
    await signIn(key, { isKept: keptKey !== undefined })
    const error = signInError.value
    if (error?.status === 401 || error?.status === 403) {
      writeTabKey(undefined)
      forgetKept(key)
      keptKey = undefined
    }
    // The service cannot be reached, or the key is limited. That ends.
    else if (error) restoreError.value = error
  }
  isRestoring.value = false
  endIfRemoved()
}

const signedOut = (text: string) => new RequestError('signed_out', text)

function endExpired(): void {
  if (!readKeptKey()?.isExpired) return
  forgetKeptKey()
  endSession(signedOut(`The key was not used on this device for ${unusedDaysMax} days, so it was removed.`))
}

/** Ends the session if the kept key was removed by another tab. */
function endIfRemoved(): void {
  if (keptKey === undefined || readKeptKey()?.key === keptKey) return
  endSession(
    signedOut(
      'You signed out in another tab, or the key was removed from this device: it no longer works, or it can manage keys.',
    ),
  )
}

/** Does what another tab has done: sign out, or sign in and keep the key. */
function followKeptKey(): void {
  if (isSigningIn) return
  if (keptKey !== undefined) endExpired()
  endIfRemoved()
  const kept = readKeptKey()
  if (kept === undefined || kept.isExpired) return
  if (session.value === undefined && restoreError.value === undefined) void restoreSession()
  else if (kept.key === currentApiKey()) {
    // From now on this session ends with that of the other tabs.
    keptKey = kept.key
    writeTabKey(undefined)
  }
}

globalThis.addEventListener('storage', followKeptKey)
// Browsers may not send storage events to a page in the background.
globalThis.addEventListener('pageshow', followKeptKey)
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') followKeptKey()
})
/** `getLimits` is exempt up to 60 times a minute. */
const checkMs = 60_000
setInterval(() => {
  followKeptKey()
  // A key that has gained `keys:manage` is no longer kept.
  if (keptKey !== undefined && session.value !== undefined) refreshSession().catch(() => {})
}, checkMs)
/** What the person does, and not what an open page does by itself, is a use. */
for (const type of ['pointerdown', 'keydown'])
  document.addEventListener(
    type,
    () => {
      if (keptKey === undefined) return
      followKeptKey()
      if (keptKey !== undefined) recordUse()
    },
    { capture: true, passive: true },
  )

handleKeyRejected((error) => {
  if (!session.value || isRotating) return
  forgetKept(currentApiKey())
  endSession(error)
})
