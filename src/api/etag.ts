import { hash } from 'node:crypto'
import { ApiError, apiErrors } from './errors.ts'
import { toJson } from './json.ts'
import type { Context, OperationResult } from './operation.ts'

/** A strong ETag of the content. */
export const etagOf = (content: string): string => `"${hash('sha256', content, 'base64url').slice(0, 27)}"`

const entityTags = /(?:W\/)?"[^"]*"/g
const opaque = (tag: string) => tag.replace(/^W\//, '')

/** If-None-Match: weak comparison (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(header: string, etag: string): boolean {
  if (header.trim() === '*') return true
  return (header.match(entityTags) ?? []).some((tag) => opaque(tag) === opaque(etag))
}

/** If-Match: strong comparison (RFC 9110, 13.1.1). */
function matchesIfMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || (header.match(entityTags) ?? []).some((tag) => tag === etag)
}

const unquotedTagMessage =
  'If-Match has no ETag in double quotes. Send the ETag as the service returned it, with its quotes: If-Match: "...". In a shell, write the header in single quotes.'
const weakTagMessage =
  'If-Match has a weak ETag (W/"..."), which never matches. Send the ETag as the service returned it, without "W/". A proxy that compresses responses may have added it.'

/** A response with a value and its ETag, which is computed from `etagSource`. */
export function respondWithEtag(status: number, value: object, etagSource: object = value): OperationResult {
  const json = toJson(value)
  return { status, json, value, headers: { ETag: etagOf(etagSource === value ? json : toJson(etagSource)) } }
}

/** One description for all operations: generators give a header with a second description another name. */
export const ifMatchParameter = {
  'If-Match': 'The ETag that the resource must still have. Otherwise the response is 412.',
}
/** The request header of reads that can be answered with 304. */
export const ifNoneMatchParameter = {
  'If-None-Match': 'If this is still the current ETag, the response is 304.',
}
export const etagHeader = {
  ETag: 'The ETag of the resource. Send it in `If-Match` with a change, and in `If-None-Match` where the operation has that header.',
}

/** Throws if the request has an `If-Match` header that the ETag does not match. */
export function requireIfMatch(etagSource: object, context: Pick<Context, 'header'>): void {
  if (context.header('if-match') !== undefined) requireEtag(etagOf(toJson(etagSource)), context)
}

/** The same for a resource whose ETag is known. */
export function requireEtag(etag: string, { header }: Pick<Context, 'header'>): void {
  const expected = header('if-match')
  if (expected === undefined || matchesIfMatch(expected, etag)) return
  const tags = expected.match(entityTags) ?? []
  const isWeak = tags.some((tag) => tag.startsWith('W/'))
  const message = tags.length === 0 ? unquotedTagMessage : isWeak ? weakTagMessage : undefined
  throw new ApiError(apiErrors.precondition_failed, message)
}
