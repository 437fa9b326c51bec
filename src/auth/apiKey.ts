import { createHash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

// A generated key is `ps_live_` or `ps_test_`, 30 random base62 characters, and a CRC32 checksum in 6 base62 characters.

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 30
const checksumLength = 6
const form = /^ps_(?:live|test)_[0-9A-Za-z]{36}$/

export const keyPrefixes = { production: 'ps_live_', staging: 'ps_test_' } as const
export type KeyEnvironment = keyof typeof keyPrefixes
const environments = Object.keys(keyPrefixes) as KeyEnvironment[]

export function generateApiKey(environment: KeyEnvironment): string {
  let body: string = keyPrefixes[environment]
  for (let i = 0; i < randomLength; i++) body += alphabet[randomInt(alphabet.length)]
  return body + checksum(body)
}

/** Whether a text has the form and the checksum of a generated key. */
export const isWellFormedApiKey = (key: string): boolean =>
  form.test(key) && key.endsWith(checksum(key.slice(0, -checksumLength)))

/** The environment in the prefix of a key; undefined without such a prefix. */
export const environmentOf = (key: string): KeyEnvironment | undefined =>
  environments.find((environment) => key.startsWith(keyPrefixes[environment]))

/** False only for a key that was damaged or cut off, so that it needs no lookup. A key without a prefix is possible. */
export const isPossibleApiKey = (key: string): boolean =>
  environmentOf(key) === undefined || isWellFormedApiKey(key)

/** What is wrong with a key that the operator chose, if it has the prefix of a generated key. */
export function apiKeyProblem(key: string, environment: KeyEnvironment): string | undefined {
  if (!isPossibleApiKey(key)) return 'looks like an API key of this service, but its checksum is wrong'
  const own = environmentOf(key)
  if (own !== undefined && own !== environment)
    return `is a key of the other environment (this one is ${environment})`
  return undefined
}

export const hashApiKey = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Any text as long as the secret part of a key may be one. */
const anySecret = /[0-9A-Za-z]{36,}/g

/** Removes keys from text for the log: generated keys by their form, the key that the operator chose by its value. */
export function redactor(operatorKey: string | undefined): (text: string) => string {
  const redact = (text: string) => {
    const redacted = text
      .replace(/ps_(live|test)_[0-9A-Za-z]+/gi, 'ps_$1_[redacted]')
      .replace(anySecret, '[redacted]')
    return operatorKey === undefined ? redacted : redacted.replaceAll(operatorKey, '[redacted]')
  }
  return (text) => {
    const decoded = decode(decode(text))
    // Text stays as it was sent, unless it contains a percent-encoded key.
    return redact(decoded) === decoded ? redact(text) : redact(decoded)
  }
}

/** Decodes each escape separately, so that a malformed one does not prevent decoding the others. */
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
