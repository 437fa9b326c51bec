import { hash } from 'node:crypto'

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
export function matchesIfMatch(header: string, etag: string): boolean {
  return header.trim() === '*' || (header.match(entityTags) ?? []).some((tag) => tag === etag)
}
