import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { etagOf } from '../api/etag.ts'
import { type HeaderFields, headerBlock, type PreparedResponse } from '../api/response.ts'
import type { WebPage } from '../api/router.ts'

/** A page that is the same for every client. */
export type StaticPage = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Any browser origin may read it. */
  readonly isPublic?: boolean
  /** 200, unless the page says that there is nothing at its path. */
  readonly status?: 200 | 404
  render(): string | Promise<string>
}

type Representations = { readonly plain: PreparedResponse; readonly zipped: PreparedResponse }

const compress = promisify(gzip)

/**
 * Renders a page at its first request, then serves it from memory. There are as many pages as files in the package, so
 * memory is bounded.
 */
export function serveFromMemory(page: StaticPage): WebPage {
  let prepared: Promise<Representations> | undefined
  return {
    path: page.path,
    isPublic: page.isPublic ?? false,
    async serve(request) {
      prepared ??= prepare(page).catch((error: unknown) => {
        // A failure is not cached: the next request tries again.
        prepared = undefined
        throw error
      })
      const { plain, zipped } = await prepared
      return acceptsGzip(request.header('accept-encoding')) ? zipped : plain
    },
  }
}

async function prepare(page: StaticPage): Promise<Representations> {
  const text = await page.render()
  const [plain, zipped] = await Promise.all([represent(text, false, page), represent(text, true, page)])
  return { plain, zipped }
}

/** A response with a text, compressed or not. */
export async function represent(
  text: string,
  isZipped: boolean,
  { status = 200, headers }: { readonly status?: number; readonly headers: HeaderFields },
): Promise<PreparedResponse> {
  // Runs on the thread pool: the largest page takes 200 ms.
  const body = isZipped ? await compress(text) : Buffer.from(text)
  const etag = etagOf(text)
  return {
    status,
    headers: headerBlock({
      ...headers,
      Vary: 'Accept-Encoding',
      'Content-Length': String(body.length),
      // Each representation has a different strong ETag (RFC 9110, 8.8.3.3).
      ETag: isZipped ? etag.replace(/"$/, '-gzip"') : etag,
      ...(isZipped && { 'Content-Encoding': 'gzip' }),
    }),
    body,
  }
}

/**
 * Whether a client accepts gzip (RFC 9110, 12.5.3): named by itself, or covered by "*", with a weight above 0.
 * Without the header nothing is compressed.
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  let isAnyAccepted = false
  for (const entry of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const isAccepted = !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
    if (coding === 'gzip' || coding === 'x-gzip') return isAccepted
    if (coding === '*') isAnyAccepted = isAccepted
  }
  return isAnyAccepted
}
