import type { Generated } from 'kysely'
import type { ImportTables } from './importTables.ts'

/** Integers are numbers below 2^53, except in columns of `bigintColumns`. Times are milliseconds, lists are JSON text. */
export type Tables = ImportTables & {
  /** What the database records about itself. */
  metadata: {
    name: string
    value: string
  }
  pets: {
    id: Generated<number>
    name: string
    category_id: bigint
    status: string
    /** The name of the pet in another system. It is unique within its source. */
    external_id: string | null
    source: Generated<string>
    /** Null if it was added by a version that did not record it. */
    created_at: number | null
    /** The last change of the pet, its profile or its photos. */
    updated_at: number | null
    adopted_on: string | null
  }
  /** What is known about a pet, see profiles/profile.ts. A pet without a row has an empty profile. */
  profiles: {
    pet_id: number
    /** 1 if the pet appears in listings. */
    listed: number
    /** JSON text. */
    data: string
    /** When an import has unlisted the pet, because its file did not have it any more. */
    missing_since: number | null
  }
  /** Pets that are adopted together. Each pair is stored in both directions. */
  pet_bonds: {
    pet_id: number
    other_id: number
  }
  photos: {
    id: Generated<number>
    /** The id in the API and in addresses. It cannot be guessed. */
    token: string
    pet_id: number
    position: number
    alt: string | null
    caption: string | null
    width: number
    height: number
    color: string
    created_at: number
    updated_at: number
    /** Where an import has got it from: an address, or a file and the hash of its content. */
    source: string | null
  }
  /** The files of deleted photos stay until a job deletes them. */
  photo_files: {
    photo_id: number
    name: string
    bytes: Uint8Array
  }
  /** The photos whose files are still to be deleted. A trigger adds them. */
  deleted_photos: {
    photo_id: number
  }
  /** The store's own data, see store/store.ts. At most one row, with the id 1. */
  store_profile: {
    id: number
    /** JSON text. */
    data: string
  }
  /** The search index. SQLite has an FTS5 table, in which `id` is the `rowid`. */
  listing_terms: {
    id: number
    terms: string
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
    /** The event streams that the key may have open at one instance, if not the default of its plan. */
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
    rejections: number
    rejections_until: number
    banned_at: number
    banned_until: number
    ban_level: number
    last_used_at: number
  }
  /** Who changed what, see audit/audit.ts. Either the key or the command is set. */
  audit_entries: {
    id: Generated<number>
    at: number
    actor_key_id: number | null
    actor_command: string | null
    action: string
    subject: string
    request_id: string | null
  }
  /** Requests over time, see usage/usage.ts. */
  usage_counts: {
    key_id: number
    bucket_ms: number
    starts_at: number
    name: string
    count: number
  }
  idempotency_records: {
    key_id: number
    idempotency_key: string
    fingerprint: string
    status: number
    headers: string
    body: string
    created_at: number
    /** The resource that the response shows, if erasing the resource must erase the response too. */
    subject_ref: string | null
  }
  /** The counts of SQLite. PostgreSQL has `counter_slots`. */
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
    /** Who made the change: see src/actor.ts. */
    actor: string | null
  }
  webhooks: {
    id: Generated<number>
    url: string
    events: string
    /** The webhook receives events after this one. */
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
    /** The attempts that count for the retry schedule. A retry by hand sets it back to 1 if it is higher. */
    attempts: number
    /** The attempts that retries by hand took from `attempts`. Responses show the sum. */
    earlier_attempts: Generated<number>
    /** Set while another attempt is due. */
    next_attempt_at: number | null
    claimed_until: number
    last_status: number | null
    last_error: string | null
    created_at: number
    finished_at: number | null
  }
  /** The position that a reader of an ordered table has reached. */
  cursors: {
    name: string
    value: number
  }
  schema_migrations: {
    version: number
    name: string
    applied_at: number
  }
}

/** The columns that hold any int64; they are bigints in the code. */
export const bigintColumns: ReadonlySet<string> = new Set(['category_id'])

/** Every change appends a row to this table. Its ids rise without gaps. */
export const changeLogTable = 'events'
/** In which triggers of SQLite count, by name. */
export const counterTable = 'inventory'

type IntegerColumn<T> = {
  [C in keyof T]: T[C] extends number | null | Generated<number> ? C : never
}[keyof T]

/** A table, and the column that says which id a change of one of its rows concerns. */
export type RowSource = {
  [T in keyof Tables]: { readonly table: T; readonly column: IntegerColumn<Tables[T]> & string }
}[keyof Tables]

/** The tables whose ids the database assigns, rising and never reused. */
export type IdentityTable = 'pets' | 'photos' | 'api_keys' | 'orders' | 'events'
