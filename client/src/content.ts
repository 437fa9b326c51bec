import { checkPresent } from './check.ts'
import { toJson } from './json.ts'

type Content = {
  readonly type: string
  readonly body: NonNullable<RequestInit['body']>
  /** The JSON. Bytes have none: a submission does not compare them, but the service does. */
  readonly text?: string
}

/** The body of a request as it is sent: bytes unchanged, everything else as JSON. All attempts can send it again. */
export function contentOf(body: unknown, contentType: string | undefined): Content | undefined {
  if (body === undefined) return undefined
  const isBytes = body instanceof ArrayBuffer || body instanceof Uint8Array
  if (!isBytes && !(body instanceof Blob)) {
    const text = toJson(body)
    return { type: 'application/json', body: text, text }
  }
  const type = contentType ?? (isBytes ? '' : body.type)
  checkPresent('contentType', type)
  return { type, body: body as Content['body'] }
}
