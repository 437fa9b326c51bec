import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { etagOf, matchesAny } from '../api/etag.ts'
import { acceptsGzip } from './acceptEncoding.ts'
import type { Page } from './app.ts'

/** A page that is the same for every client. */
export type StaticPage = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Any browser origin may read it. */
  readonly isPublic?: boolean
  render(): string | Promise<string>
}

type Representation = { readonly body: Buffer; readonly headers: Readonly<Record<string, string>> }
type PreparedPage = { readonly plain: Representation; readonly zipped: Representation }

const compress = promisify(gzip)

/**
 * Renders a page at its first request and serves it from memory from then on. The paths are those of the package's own
 * files, so they are a bound on what is kept.
 */
export function servedFromMemory(page: StaticPage): Page {
  let prepared: Promise<PreparedPage> | undefined
  return {
    path: page.path,
    isPublic: page.isPublic ?? false,
    async serve({ headers }, _remoteAddress, common) {
      prepared ??= prepare(page).catch((error: unknown) => {
        // A failure is not kept: the next request tries again.
        prepared = undefined
        throw error
      })
      const { plain, zipped } = await prepared
      const chosen = acceptsGzip(headers.get('accept-encoding') ?? undefined) ? zipped : plain
      const known = headers.get('if-none-match')
      return known !== null && matchesAny(known, chosen.headers.ETag as string)
        ? new Response(null, { status: 304, headers: { ...withoutContent(chosen.headers), ...common } })
        : new Response(chosen.body, { headers: { ...chosen.headers, ...common } })
    },
  }
}

async function prepare({ headers, render }: StaticPage): Promise<PreparedPage> {
  const text = await render()
  const plain = Buffer.from(text)
  // In a thread of its own, since the largest page takes a fifth of a second.
  const zipped = await compress(plain)
  const etag = etagOf(text)
  // Each representation has a strong ETag of its own (RFC 9110, 8.8.3.3).
  const zippedHeaders = { 'Content-Encoding': 'gzip', ETag: etag.replace(/"$/, '-gzip"') }
  const common = { ...headers, Vary: 'Accept-Encoding' }
  return {
    plain: { body: plain, headers: { ...common, ETag: etag, 'Content-Length': String(plain.length) } },
    zipped: {
      body: zipped,
      headers: { ...common, ...zippedHeaders, 'Content-Length': String(zipped.length) },
    },
  }
}

function withoutContent(headers: Representation['headers']): Record<string, string> {
  const { 'Content-Type': _, 'Content-Encoding': __, 'Content-Length': ___, ...rest } = headers
  return rest
}
