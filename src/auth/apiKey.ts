import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The form of a key: `ps_live_` or `ps_test_`, 30 random base62 characters, 6 of CRC32. */

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 30
const checksumLength = 6
const form = /^ps_(?:live|test)_[0-9A-Za-z]{36}$/

export const keyPrefixes = { production: 'ps_live_', staging: 'ps_test_' } as const
export type KeyEnvironment = keyof typeof keyPrefixes

export function makeApiKey(environment: KeyEnvironment): string {
  let body: string = keyPrefixes[environment]
  for (let i = 0; i < randomLength; i++) body += alphabet[randomInt(alphabet.length)]
  return body + checksum(body)
}

/** True for a key that could have been made here: right form, right checksum. No look-up is worth it otherwise. */
export function isWellFormed(key: string): boolean {
  return form.test(key) && key.endsWith(checksum(key.slice(0, -checksumLength)))
}

export const looksLikeApiKey = (text: string): boolean => /^ps_(?:live|test)_/.test(text)

/** The environment that a key says it is of. */
export const environmentOf = (key: string): KeyEnvironment | undefined =>
  key.startsWith(keyPrefixes.production)
    ? 'production'
    : key.startsWith(keyPrefixes.staging)
      ? 'staging'
      : undefined

/** What is wrong with an operator's own choice of key, if it looks like one of ours. */
export function apiKeyProblem(key: string, environment: KeyEnvironment): string | undefined {
  if (!looksLikeApiKey(key)) return undefined
  if (!isWellFormed(key)) return 'looks like an API key of this service, but its checksum is wrong'
  if (environmentOf(key) !== environment)
    return `is a key of the other environment (this one is ${environment})`
  return undefined
}

export const hashApiKey = (key: string): string => createHash('sha256').update(key).digest('hex')

/** What is as long as the secret part of a key may be one, whatever stands before it. */
const anySecret = /[0-9A-Za-z]{36,}/g

/** For the log: makes keys that slipped into a text unreadable, ours by their form and the operator's own by its value. */
export function redactor(ownKey: string | undefined): (text: string) => string {
  const hide = (text: string) => {
    const withoutOurs = text
      .replace(/ps_(live|test)_[0-9A-Za-z]+/gi, 'ps_$1_[redacted]')
      .replace(anySecret, '[redacted]')
    return ownKey === undefined ? withoutOurs : withoutOurs.replaceAll(ownKey, '[redacted]')
  }
  return (text) => {
    const decoded = decode(decode(text))
    // A path is left as it was sent, unless a key hides behind its percent signs.
    return hide(decoded) === decoded ? hide(text) : hide(decoded)
  }
}

/** Escape by escape: one that is broken must not keep the others from being read. */
const decode = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

function checksum(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet.charAt(rest % alphabet.length) + digits
    rest = Math.floor(rest / alphabet.length)
  }
  return digits
}
