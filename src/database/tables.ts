import type { Generated } from 'kysely'

/**
 * The columns named `category_id` hold any int64 and are bigints in the code;
 * every other integer stays below 2^53 and is a number. Times are milliseconds, lists are JSON text.
 */
export type Tables = {
  pets: {
    id: Generated<number>
    name: string
    category_id: bigint
    status: string
  }
  categories: {
    category_id: bigint
    name: string | null
  }
  api_keys: {
    id: Generated<number>
    name: string
    plan: string
    per_minute: number | null
    per_day: number | null
    scopes: string
    origins: string
    /** 1 for the key that PETSTORE_ADMIN_KEY sets. */
    from_setting: number
    created_at: number
    expires_at: number | null
    revoked_at: number | null
    /** Bans that began up to this moment have been lifted. */
    unbanned_at: number
  }
  api_key_secrets: {
    hash: string
    key_id: number
    created_at: number
    expires_at: number | null
  }
  key_usage: {
    key_id: number
    minute_ends_at: number
    minute_used: number
    day_ends_at: number
    day_used: number
    refusals: number
    refusals_until: number
    banned_at: number
    banned_until: number
    ban_level: number
    last_used_at: number
  }
  idempotent_answers: {
    key_id: number
    idempotency_key: string
    fingerprint: string
    status: number
    headers: string
    body: string
    created_at: number
  }
  schema_migrations: {
    version: number
    name: string
    applied_at: number
  }
}
