import { toExactText } from './json.ts'

/** The address of the API without a slash at its end. */
export function checkedAddress(baseUrl: unknown): string {
  checkPresent('baseUrl', baseUrl)
  const url = parseAddress(String(baseUrl))
  // The value can be a key that was passed as the address, so it is not in the message.
  if (!url) throw new TypeError('baseUrl must be an address such as https://pets.example/v1.')
  return `${url.origin}${url.pathname.replace(/\/+$/, '') || '/v1'}`
}

/**
 * In a web page, a path such as `/v1` is an address too. Other relative addresses are not: an API key would be one, and
 * every request would have it in its URL.
 */
function parseAddress(text: string): URL | undefined {
  if (!/^(?:https?:\/\/|\/(?![/\\]))/i.test(text)) return undefined
  try {
    return new URL(text, (globalThis as { location?: { href: string } }).location?.href)
  } catch {
    return undefined
  }
}

export function checkPresent(name: string, value: unknown): void {
  if ((value ?? '') === '') throw new TypeError(`${name} is missing.`)
}

export function checkApiKey(apiKey: unknown): void {
  checkPresent('apiKey', apiKey)
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))
    throw new TypeError('apiKey must be a string of ASCII characters without spaces.')
}

/** Times and counts. `undefined` is the default. Without this check, NaN would mean forever. */
export function checkNumbers(values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && !(typeof value === 'number' && value >= 0))
      throw new RangeError(`${name} must be a number that is not negative.`)
}

/** An id as a part of a path. `.`, `..` and nothing would lead to another path, also if they were encoded. */
export function pathSegment(name: string, id: unknown): string {
  const text = toExactText(id ?? '')
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`${name} must be an id, not "${id}".`)
  return encodeURIComponent(text)
}
