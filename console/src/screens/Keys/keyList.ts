import type { Key, Scope } from '../../../../client/src/index.ts'
import { scopes } from '../../../../src/keys/key.ts'
import { now } from '../../app/clock.ts'
import { summarizeList } from '../../app/format.ts'
import { PagedList } from '../../app/pagedList.ts'
import { session } from '../../app/session.ts'
import { store } from '../../app/store.ts'
import { followEvents } from '../../app/stream.ts'

export type KeyList = PagedList<Key>

const pageSize = 100

export const createKeyList = (): KeyList =>
  new PagedList<Key>({ pageSize, list: (page, options) => store.keys.list(page, options) })

/** Takes over changes by others. */
export const followKeys = (list: KeyList): (() => void) =>
  followEvents(
    (event) => {
      if (event.type === 'key.created' || event.type === 'key.updated' || event.type === 'key.revoked')
        list.upsert(event.data)
      else if (event.type === 'key.banned') {
        const key = list.find(event.data.id)
        if (key) list.upsert({ ...key, bannedUntil: event.data.bannedUntil })
      }
    },
    () => void list.reload(),
  )

type KeyStatus = 'active' | 'revoked' | 'expired' | 'banned'

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
