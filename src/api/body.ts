import { ApiError } from './errors.ts'
import { JsonError, type JsonValue, parseJson } from './json.ts'
import type { ApiRequest } from './request.ts'

export const bodyBytesMax = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The body's bytes; of one that is too large, no more than it takes to know. */
export async function readBody(incoming: ApiRequest): Promise<Uint8Array> {
  const bytes = await incoming.body(bodyBytesMax).catch(refuseUnfinished)
  if (!bytes) throw new ApiError('body_too_large', undefined, { headers: { Connection: 'close' } })
  return bytes
}

/** A body that breaks off is a client that has hung up, unless the server already has an error for it. */
function refuseUnfinished(thrown: unknown): never {
  if (thrown instanceof ApiError) throw thrown
  throw new ApiError('malformed_json', 'The body broke off before its end.')
}

export function parseBody(incoming: ApiRequest, bytes: Uint8Array): JsonValue {
  if (!isJson(incoming.header('content-type'))) throw new ApiError('unsupported_media_type')
  if ((incoming.header('content-encoding') ?? 'identity').toLowerCase() !== 'identity') {
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

function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === 'application/json' || contentType.trim() === '')
    return true
  const [type = '', ...parameters] = contentType.toLowerCase().split(';')
  return (
    type.trim() === 'application/json' &&
    parameters.every(
      (parameter) => !/^\s*charset=/.test(parameter) || /^\s*charset="?utf-?8"?\s*$/.test(parameter),
    )
  )
}
