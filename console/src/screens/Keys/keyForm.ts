import type { Key, Plan, Scope } from '../../../../client/src/index.ts'
import { changedFields } from '../../app/changedFields.ts'
import { keyRoles, type RoleName } from './keyRoles.ts'

/** The fields of the form as text, and the body of the request. */

export type KeyForm = {
  /** Of a new key. An existing one has its plan and its scopes only. */
  role: RoleName | 'custom'
  name: string
  plan: Plan
  perMinute: string
  perDay: string
  streams: string
  scopes: readonly string[]
  origins: string
  expiresAt: string
}

/** A time as the value of a field for local time. */
function toLocal(at: string | undefined): string {
  if (at === undefined) return ''
  const time = new Date(at)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const limitText = (limit: number | undefined) => (limit === undefined ? '' : String(limit))

export const formOf = (key: Key | undefined): KeyForm => ({
  role: key ? 'custom' : 'frontDesk',
  name: key?.name ?? '',
  plan: key?.plan ?? keyRoles.frontDesk.plan,
  perMinute: limitText(key?.limits?.perMinute),
  perDay: limitText(key?.limits?.perDay),
  streams: limitText(key?.limits?.streams),
  scopes: key?.scopes ?? keyRoles.frontDesk.scopes,
  origins: key?.origins.join('\n') ?? '',
  expiresAt: toLocal(key?.expiresAt),
})

/** Text that is no number is sent as it is, and the API says what is wrong with it. */
const parseLimit = (text: string): number | undefined => {
  if (text.trim() === '') return undefined
  const number = Number(text)
  return Number.isNaN(number) ? (text as unknown as number) : number
}

const originsOf = (text: string): string[] => text.split(/[\s,]+/).filter((origin) => origin !== '')

/** The limits of the form. They belong to the plan `enterprise`. Undefined if there are none. */
function limitsOf({ plan, perMinute, perDay, streams }: KeyForm) {
  const limits = {
    perMinute: parseLimit(perMinute),
    perDay: parseLimit(perDay),
    streams: parseLimit(streams),
  }
  const hasLimits = plan === 'enterprise' && Object.values(limits).some((limit) => limit !== undefined)
  return hasLimits ? limits : undefined
}

const fieldsOf = (form: KeyForm) => ({
  name: form.name.trim(),
  plan: form.plan,
  scopes: form.scopes as Scope[],
  origins: originsOf(form.origins),
})

/** The body for a new key. */
export function newKeyBody(form: KeyForm) {
  const limits = limitsOf(form)
  return {
    ...fieldsOf(form),
    ...(limits && { limits }),
    ...(form.expiresAt !== '' && { expiresAt: new Date(form.expiresAt).toISOString() }),
  }
}

/** The changes of an existing key, which was shown as `initial`. */
export function changedKeyBody(form: KeyForm, initial: KeyForm) {
  const limits = limitsOf(form)
  const areLimitsChanged = JSON.stringify(limits) !== JSON.stringify(limitsOf(initial))
  return {
    ...changedFields(fieldsOf(form), fieldsOf(initial)),
    ...(areLimitsChanged && { limits: limits ?? null }),
    ...(form.expiresAt !== initial.expiresAt && {
      expiresAt: form.expiresAt === '' ? null : new Date(form.expiresAt).toISOString(),
    }),
  }
}

export type FormErrors = { name?: string; origins?: string }

/** What the API would reject, or would make a key of another kind. */
export function validate({ role, name, origins }: KeyForm): FormErrors {
  return {
    ...(name.trim() === '' && { name: 'Say what the key is for.' }),
    // Without origins, the key would be a secret.
    ...(role === 'website' &&
      originsOf(origins).length === 0 && { origins: 'Enter the address of the web site.' }),
  }
}

/** What the person loses by the change of the key that they are signed in with. */
export function ownKeyWarning(form: KeyForm): string | undefined {
  if (!form.scopes.includes('keys:manage'))
    return 'You are signed in with this key. Without keys:manage you can no longer change keys, not even to undo this.'
  if (originsOf(form.origins).length > 0)
    return 'You are signed in with this key. With origins it becomes publishable, and no longer opens the console.'
  if (form.expiresAt !== '')
    return 'You are signed in with this key. When it expires you are signed out. Make sure that another key can manage keys.'
  return undefined
}
