import { scopes } from '../../../../src/keys/key.ts'
import { callWithHeaders } from '../../api/client.ts'
import { now } from '../../api/clock.ts'
import { onEvent, onResync } from '../../api/stream.ts'
import type { Key, Scope } from '../../api/types.ts'
import { summarizeList } from '../../app/format.ts'
import { PagedList } from '../../app/pagedList.ts'
import { session } from '../../app/session.ts'

export type KeyList = PagedList<Key>

const pageSize = 100

export const createKeyList = (): KeyList =>
  new PagedList<Key>({
    load: (cursor, signal) => callWithHeaders('listKeys', { query: { limit: pageSize, cursor }, signal }),
  })

/** Takes over changes by others. */
export function followKeys(list: KeyList): () => void {
  const end = onEvent((event) => {
    if (event.type === 'key.created' || event.type === 'key.updated' || event.type === 'key.revoked')
      list.upsert(event.data)
    else if (event.type === 'key.banned') {
      const key = list.find(event.data.id)
      if (key) list.upsert({ ...key, bannedUntil: event.data.bannedUntil })
    }
  })
  const endResync = onResync(() => void list.reload())
  return () => {
    end()
    endResync()
  }
}

export type KeyStatus = 'active' | 'revoked' | 'expired' | 'banned'

export function keyStatus({ revokedAt, expiresAt, bannedUntil }: Key): KeyStatus {
  if (revokedAt !== undefined) return 'revoked'
  if (expiresAt !== undefined && Date.parse(expiresAt) <= now()) return 'expired'
  if (bannedUntil !== undefined && Date.parse(bannedUntil) > now()) return 'banned'
  return 'active'
}

/** The key that the person is signed in with. */
export const isOwnKey = ({ id }: Pick<Key, 'id'>): boolean => session.value?.keyId === id

/** "All scopes", "pets:read and 2 more". */
export function describeScopes(granted: readonly Scope[]): string {
  if (granted.length === scopes.length) return 'All scopes'
  return granted.length === 0 ? 'No scopes' : summarizeList(granted)
}

/** A command that shows that the key works. */
export function curlLine(key: Pick<Key, 'scopes' | 'origins'>, secret: string): string {
  const path = key.scopes.includes('pets:read') ? '/v1/pets?limit=5' : '/v1/limits'
  const [origin] = key.origins
  const from = origin === undefined ? '' : ` -H "Origin: ${origin}"`
  return `curl -H "Authorization: Bearer ${secret}"${from} "${location.origin}${path}"`
}
