import type { Generated, Kysely } from 'kysely'

/**
 * The columns named `category_id` hold any int64 and are bigints in the code;
 * every other integer stays below 2^53 and is a number. Times are milliseconds, lists are JSON text.
 */
export type Tables = {
  store_facts: {
    name: string
    value: string
  }
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
    /** How many event streams the key may have open at one instance, where it has a limit of its own. */
    streams: number | null
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
    /** What the answer is about, where it may have to be erased with it. */
    concerns: string | null
  }
  inventory: {
    status: string
    count: number
  }
  orders: {
    id: Generated<number>
    pet_id: number
    status: string
    customer_name: string | null
    customer_email: string | null
    note: string | null
    placed_at: number
    updated_at: number
    /** Set while the order is placed. */
    hold_expires_at: number | null
    cancel_reason: string | null
  }
  events: {
    id: Generated<number>
    type: string
    created_at: number
    data: string
    /** 1 for events of keys. */
    is_private: number
  }
  webhooks: {
    id: Generated<number>
    url: string
    events: string
    /** It is told of events after this one. */
    from_event_id: number
    status: string
    status_reason: string | null
    secret: string
    previous_secret: string | null
    previous_secret_until: number | null
    created_at: number
  }
  webhook_deliveries: {
    id: Generated<number>
    webhook_id: number
    event_id: number | null
    event_type: string
    event_at: number
    data: string
    status: string
    attempts: number
    /** Set while there is an attempt to come. */
    next_attempt_at: number | null
    claimed_until: number
    last_status: number | null
    last_error: string | null
    created_at: number
    finished_at: number | null
  }
  /** How far something has come that goes through the store in order. */
  positions: {
    name: string
    value: number
  }
  schema_migrations: {
    version: number
    name: string
    applied_at: number
  }
}

/** The typed query builder: a connection or a transaction. */
export type Db = Kysely<Tables>
