type Headers = Record<string, string>

/** How a caller's windows stand, as its headers put it. */
export type RateLimitHeaders = {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
  readonly policy: string
  readonly windows: string
}

/** What an answer says to one caller alone: as headers, and as the lines of a head. */
export type CallerHeaders = { readonly headers: Readonly<Headers>; readonly lines: string }

export const noCallerHeaders: CallerHeaders = { headers: {}, lines: '' }

/** What every answer of the API says to its caller. */
export class ApiCallerHeaders implements CallerHeaders {
  readonly #rates: RateLimitHeaders
  readonly #requestId: string
  readonly #more: Readonly<Headers> | undefined

  constructor(rates: RateLimitHeaders, requestId: string, more: Readonly<Headers> | undefined) {
    this.#rates = rates
    this.#requestId = requestId
    this.#more = more
  }

  get headers(): Readonly<Headers> {
    const { limit, remaining, reset, policy, windows } = this.#rates
    const headers = {
      'X-RateLimit-Limit': limit,
      'X-RateLimit-Remaining': remaining,
      'X-RateLimit-Reset': reset,
      'RateLimit-Policy': policy,
      RateLimit: windows,
      'X-Request-Id': this.#requestId,
    }
    return this.#more ? { ...headers, ...this.#more } : headers
  }

  /** Of texts of ours, or that were looked at before. In one piece: a line after the other takes twice as long. */
  get lines(): string {
    const { limit, remaining, reset, policy, windows } = this.#rates
    const lines = `X-RateLimit-Limit: ${limit}\r\nX-RateLimit-Remaining: ${remaining}\r\nX-RateLimit-Reset: ${reset}\r\nRateLimit-Policy: ${policy}\r\nRateLimit: ${windows}\r\nX-Request-Id: ${this.#requestId}\r\n`
    return this.#more ? lines + headerLines(this.#more) : lines
  }
}

const forbidden = /[^\t\x20-\x7e\x80-\xff]/

/** Lines of a head, all of which are whole: what could end a line early is refused. */
export function headerLines(headers: Readonly<Headers>): string {
  let lines = ''
  for (const name in headers) {
    const value = headers[name] as string
    if (forbidden.test(value))
      throw new TypeError(`The header ${name} has characters that no header may have.`)
    lines += `${name}: ${value}\r\n`
  }
  return lines
}
