import { sql } from 'kysely'
import { Batcher } from '../database/batcher.ts'
import type { Database } from '../database/database.ts'
import { preparedQuery } from '../database/preparedQuery.ts'
import { BoundedMap } from '../limits/boundedMap.ts'

const knownMax = 100_000

const findHashes = preparedQuery<[hashes: readonly string[]], { hash: string }>(
  () => sql`SELECT hash FROM api_key_secrets WHERE hash = ANY(${[]}::text[])`,
)

/**
 * Finds out whether a secret exists, usable or not, before anything is counted or locked for it. Made-up secrets are all
 * different, so only those that exist are remembered. The others are looked up in batches, on connections that no valid key
 * needs once it was seen. See docs/decisions/0034-lookup-of-unknown-secrets.md.
 */
export function createKnownSecrets(database: Database, options: { readonly waitingMax?: number } = {}) {
  const known = new BoundedMap<string, true>(knownMax)
  const find = async (hashes: readonly string[]) => {
    const found = new Set((await findHashes(database.unknownCallerDb, hashes)).map(({ hash }) => hash))
    for (const hash of found) known.set(hash, true)
    return hashes.map((hash) => found.has(hash))
  }
  const bounds = { ...options, batchesMax: 1 }
  /** Lookups for addresses that have requests left do not wait for those of addresses that have none. */
  const [lookups, exhaustedLookups] = [new Batcher(find, bounds), new Batcher(find, bounds)]
  return {
    isKnown: (hash: string) => known.has(hash),
    /**
     * Whether a secret exists that is not known. Rejects if too many lookups wait: then the secret may be valid, which only
     * a retry can tell.
     */
    lookUp: (hash: string, isAddressExhausted: boolean) =>
      (isAddressExhausted ? exhaustedLookups : lookups).add(hash),
    /** For a secret that no longer exists. */
    forget: (hash: string) => void known.delete(hash),
  }
}

export type KnownSecrets = ReturnType<typeof createKnownSecrets>
