import type * as z from 'zod'
import { parseBody } from './body.ts'
import { ApiError } from './errors.ts'
import type { Input, Operation } from './operation.ts'
import { readQuery } from './query.ts'
import type { RequestContext } from './requestContext.ts'
import { refuseUnknownFields, validate } from './validation.ts'

export type AnyInput = Input<z.ZodObject, z.ZodObject, z.ZodObject>

/** Path, query and body as the operation's schemas read them, or a refusal. */
export function readInput(exchange: RequestContext, operation: Operation, bytes?: Uint8Array): AnyInput {
  const { request: incoming, route } = exchange
  const input: { params: unknown; query: unknown; body: unknown } = { params: {}, query: {}, body: {} }
  if (operation.params) {
    const parsed = operation.params.safeParse(route?.params)
    if (!parsed.success) throw new ApiError(operation.notFound ?? 'not_found')
    input.params = parsed.data
  }
  if (operation.query) input.query = readQuery(operation.query, incoming.target)
  if (operation.body && bytes && !(operation.isBodyOptional && bytes.length === 0)) {
    const body = parseBody(incoming, bytes)
    // Asked first: a field that seems to be missing may be there under a misspelt name.
    if (/(?:^|[,;\s])handling\s*=\s*"?strict\b(?!-)/i.test(incoming.header('prefer') ?? '')) {
      refuseUnknownFields(operation.body, body)
      exchange.corsHeaders = { ...exchange.corsHeaders, 'Preference-Applied': 'handling=strict' }
    }
    input.body = validate(operation.body, body, 'body')
  }
  return input as AnyInput
}
