import { type CallerHeaders, headerLines } from './callerHeaders.ts'
import { matchesAny } from './etag.ts'
import type { OperationResult } from './operation.ts'
import { type StreamBody, toReadableStream } from './streamBody.ts'

type Headers = Record<string, string>

/**
 * What an answer says whoever asks. The answers that are kept share theirs, so it is put together once: the text, too,
 * that goes over the wire.
 */
export class HeaderBlock {
  readonly #own: Readonly<Headers>
  readonly #base: HeaderBlock | undefined
  #text: string | undefined
  #filledIn: FilledIn | undefined

  /** Says what another one says, too, where that says nothing of the same name. The lines are those of its own, where they are known. */
  constructor(own: Readonly<Headers>, base?: HeaderBlock, lines?: string) {
    this.#own = own
    this.#base = base
    if (base && lines !== undefined) this.#text = base.text + lines
  }

  get headers(): Readonly<Headers> {
    return this.#base ? { ...this.#base.headers, ...this.#own } : this.#own
  }

  /**
   * With what is said to this caller filled in, for an answer that copies it at once, as Bun's does: the next fills in
   * the same one. Most of it is what was said the last time.
   */
  sharedHeaders(said: Readonly<Headers>): globalThis.Headers {
    // Other names than last time: nothing of another's may be left.
    if (!this.#filledIn || !haveSameNames(said, this.#filledIn.said))
      this.#filledIn = { headers: new globalThis.Headers({ ...this.headers, ...said }), said }
    const filledIn = this.#filledIn
    for (const name in said) {
      const value = said[name] as string
      if (value !== filledIn.said[name]) filledIn.headers.set(name, value)
    }
    filledIn.said = said
    return filledIn.headers
  }

  get text(): string {
    this.#text ??= (this.#base?.text ?? '') + headerLines(this.#own)
    return this.#text
  }
}

type FilledIn = { readonly headers: globalThis.Headers; said: Readonly<Headers> }

function haveSameNames(these: Readonly<Headers>, those: Readonly<Headers>): boolean {
  for (const name in these) if (!(name in those)) return false
  for (const name in those) if (!(name in these)) return false
  return true
}

/** An answer on its way out: a body that is whole, a stream, or nothing. */
export type ApiResponse = {
  readonly status: number
  readonly letterhead: HeaderBlock
  readonly said: CallerHeaders
  readonly body?: string | undefined
  /** Whether the body's characters are its bytes. */
  readonly isAscii?: boolean
  readonly stream?: StreamBody | undefined
}

/** An answer that wants only what is said to its caller alone. */
export type PreparedResponse = Omit<ApiResponse, 'said'>

/** An answer's JSON with what it would otherwise have to be looked through for. */
export type CachedBody = {
  readonly etag: string
  readonly json: string
  readonly bytes: number
  readonly isAscii: boolean
}

const json = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-cache',
  'X-Content-Type-Options': 'nosniff',
  Vary: 'Origin',
}
const { 'Content-Type': _, ...empty } = json
const stream = {
  ...json,
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Proxies that collect answers before they pass them on would hold a stream back.
  'X-Accel-Buffering': 'no',
}

/** What all answers of an operation say. */
export class ResponseTemplate {
  readonly #own: Readonly<Headers>
  readonly #json: HeaderBlock

  constructor(own: Readonly<Headers> = {}) {
    this.#own = own
    this.#json = new HeaderBlock({ ...json, ...own })
  }

  prepare({ status, headers, json: body, stream: events }: OperationResult): PreparedResponse {
    const said: Headers = { ...headers }
    if (status === 401) said['WWW-Authenticate'] = 'Bearer'
    if (body === undefined)
      return { status, letterhead: this.#letterhead(events ? stream : empty, said), stream: events }
    const length = Buffer.byteLength(body)
    said['Content-Length'] = String(length)
    const isOfOneLink = said.Link === undefined || this.#own.Link === undefined
    const letterhead = isOfOneLink ? new HeaderBlock(said, this.#json) : this.#letterhead(json, said)
    return { status, letterhead, body, isAscii: length === body.length }
  }

  /** An answer that was looked through when it was kept. */
  fromCache({ etag, json: body, bytes, isAscii }: CachedBody): PreparedResponse {
    const own = { ETag: etag, 'Content-Length': String(bytes) }
    const lines = `ETag: ${etag}\r\nContent-Length: ${bytes}\r\n`
    const letterhead = new HeaderBlock(own, this.#json, lines)
    return { status: 200, letterhead, body, isAscii }
  }

  #letterhead(common: Readonly<Headers>, said: Readonly<Headers>): HeaderBlock {
    const links = [said.Link, this.#own.Link].filter((link) => link !== undefined)
    const all = { ...common, ...this.#own, ...said }
    return new HeaderBlock(links.length > 0 ? { ...all, Link: links.join(', ') } : all)
  }
}

/** For what is answered in no operation's name. */
export const plainTemplate = new ResponseTemplate()

/** A caller who knows the answer already is told just that. */
export function notModified(
  method: string,
  known: string | undefined,
  found: PreparedResponse,
): PreparedResponse {
  if (known === undefined || found.status !== 200 || (method !== 'GET' && method !== 'HEAD')) return found
  const etag = found.letterhead.headers.ETag
  if (etag === undefined || !matchesAny(known, etag)) return found
  const { 'Content-Type': _, 'Content-Length': __, ...headers } = found.letterhead.headers
  return { status: 304, letterhead: new HeaderBlock(headers) }
}

/** HEAD asks for the headers alone; nobody would ever read a stream. */
export function withoutStream(found: PreparedResponse): PreparedResponse {
  found.stream?.cancel()
  return { status: found.status, letterhead: found.letterhead }
}

/** As the Fetch standard has it, which every runtime has. */
export function toResponse({ status, letterhead, said, body, stream }: ApiResponse): Response {
  const headers = { ...letterhead.headers, ...said.headers }
  return new Response(body ?? (stream ? toReadableStream(stream) : null), { status, headers })
}
