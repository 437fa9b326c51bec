import { ApiError } from './errors.ts'
import { JsonError, type JsonValue, parseJson } from './json.ts'

export const bodyBytesMax = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })
const tooLarge = () => new ApiError('body_too_large', undefined, { headers: { Connection: 'close' } })

/** The body's bytes; of one that is too large, no more than it takes to know. */
export async function readBody(request: Request): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  if (length !== null) {
    if (Number(length) > bodyBytesMax) throw tooLarge()
    return new Uint8Array(await request.arrayBuffer().catch(refuseUnfinished))
  }
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of request.body) {
      bytes += chunk.length
      if (bytes > bodyBytesMax) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    refuseUnfinished(error)
  }
  return Buffer.concat(chunks)
}

/** A body that breaks off is a caller who has hung up, and no fault of ours. */
function refuseUnfinished(error: unknown): never {
  if (error instanceof ApiError) throw error
  throw new ApiError('malformed_json', 'The body broke off before its end.')
}

export function parseBody(request: Request, bytes: Uint8Array): JsonValue {
  if (!isJson(request.headers.get('content-type'))) throw new ApiError('unsupported_media_type')
  if ((request.headers.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiError('unsupported_media_type', 'Send the body without a Content-Encoding.')
  }
  if (bytes.length === 0) throw new ApiError('malformed_json', 'The body is empty: send a JSON object.')
  try {
    return parseJson(utf8.decode(bytes))
  } catch (error) {
    if (error instanceof JsonError)
      throw new ApiError('malformed_json', `The body is not valid JSON: ${error.message}.`)
    if (error instanceof TypeError) throw new ApiError('malformed_json', 'The body is not valid UTF-8.')
    throw error
  }
}

function isJson(contentType: string | null): boolean {
  if (contentType === null || contentType.trim() === '') return true
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    type.trim() === 'application/json' &&
    parameters.every(
      (parameter) => !/^\s*charset=/.test(parameter) || /^\s*charset="?utf-?8"?\s*$/.test(parameter),
    )
  )
}
