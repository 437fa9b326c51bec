CREATE TABLE schema_migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at integer NOT NULL
) STRICT;

CREATE TABLE metadata (
  name text PRIMARY KEY,
  value text NOT NULL
) STRICT;

CREATE TABLE cursors (
  name text PRIMARY KEY,
  value integer NOT NULL
) STRICT;

CREATE TABLE categories (
  category_id integer PRIMARY KEY,
  name text
) STRICT;

CREATE TABLE pets (
  id integer PRIMARY KEY AUTOINCREMENT,
  name text NOT NULL,
  category_id integer NOT NULL REFERENCES categories (category_id),
  status text NOT NULL,
  -- The name of the pet in another system, for imports. It is not part of the API.
  external_id text
) STRICT;

CREATE UNIQUE INDEX pets_by_external_id ON pets (external_id) WHERE external_id IS NOT NULL;

-- One index for each combination of filters, in the order of the pages. Each covers all columns of a page: the rows of
-- a rare combination are spread over many pages of the table.
CREATE INDEX pets_by_status ON pets (status, id, category_id, name);
CREATE INDEX pets_by_category ON pets (category_id, id, status, name);
CREATE INDEX pets_by_category_and_status ON pets (category_id, status, id, name);

CREATE TABLE inventory (
  status text PRIMARY KEY,
  count integer NOT NULL
) STRICT;

INSERT INTO inventory (status, count) VALUES ('available', 0), ('pending', 0), ('sold', 0);

-- Triggers maintain the counts, because no statement that changes pets can skip them.
CREATE TRIGGER inventory_insert AFTER INSERT ON pets BEGIN
  UPDATE inventory SET count = count + 1 WHERE status = NEW.status;
END;

CREATE TRIGGER inventory_delete AFTER DELETE ON pets BEGIN
  UPDATE inventory SET count = count - 1 WHERE status = OLD.status;
END;

CREATE TRIGGER inventory_update AFTER UPDATE OF status ON pets WHEN OLD.status <> NEW.status BEGIN
  UPDATE inventory SET count = count - 1 WHERE status = OLD.status;
  UPDATE inventory SET count = count + 1 WHERE status = NEW.status;
END;

CREATE TABLE orders (
  id integer PRIMARY KEY AUTOINCREMENT,
  pet_id integer NOT NULL,
  status text NOT NULL,
  customer_name text,
  customer_email text,
  note text,
  placed_at integer NOT NULL,
  updated_at integer NOT NULL,
  hold_expires_at integer,
  cancel_reason text
) STRICT;

CREATE INDEX orders_by_status ON orders (status, id);
CREATE INDEX orders_by_pet ON orders (pet_id, id);
CREATE INDEX orders_by_pet_and_status ON orders (pet_id, status, id);
-- A pet has at most one open order.
CREATE UNIQUE INDEX orders_open_by_pet ON orders (pet_id) WHERE status IN ('placed', 'approved');
CREATE INDEX orders_by_hold ON orders (hold_expires_at) WHERE hold_expires_at IS NOT NULL;

CREATE TABLE events (
  id integer PRIMARY KEY AUTOINCREMENT,
  type text NOT NULL,
  created_at integer NOT NULL,
  data text NOT NULL,
  is_private integer NOT NULL
) STRICT;

CREATE INDEX events_public ON events (id) WHERE is_private = 0;

CREATE TABLE webhooks (
  id integer PRIMARY KEY AUTOINCREMENT,
  url text NOT NULL,
  events text NOT NULL,
  from_event_id integer NOT NULL,
  status text NOT NULL,
  status_reason text,
  secret text NOT NULL,
  previous_secret text,
  previous_secret_until integer,
  created_at integer NOT NULL
) STRICT;

CREATE TABLE webhook_deliveries (
  id integer PRIMARY KEY AUTOINCREMENT,
  webhook_id integer NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event_id integer,
  event_type text NOT NULL,
  event_at integer NOT NULL,
  data text NOT NULL,
  status text NOT NULL,
  attempts integer NOT NULL,
  next_attempt_at integer,
  claimed_until integer NOT NULL,
  last_status integer,
  last_error text,
  created_at integer NOT NULL,
  finished_at integer
) STRICT;

CREATE INDEX deliveries_by_webhook ON webhook_deliveries (webhook_id, id);
-- One index for each lane: finding the next delivery costs the same however many are pending.
CREATE INDEX deliveries_first ON webhook_deliveries (webhook_id, id, claimed_until, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND attempts = 0;
CREATE INDEX deliveries_retry ON webhook_deliveries (webhook_id, next_attempt_at, claimed_until)
  WHERE next_attempt_at IS NOT NULL AND attempts > 0;

CREATE TABLE api_keys (
  id integer PRIMARY KEY AUTOINCREMENT,
  name text NOT NULL,
  plan text NOT NULL,
  per_minute integer,
  per_day integer,
  streams integer,
  scopes text NOT NULL,
  origins text NOT NULL,
  from_setting integer NOT NULL,
  created_at integer NOT NULL,
  expires_at integer,
  revoked_at integer,
  unbanned_at integer NOT NULL
) STRICT;

CREATE TABLE api_key_secrets (
  hash text PRIMARY KEY,
  key_id integer NOT NULL REFERENCES api_keys (id),
  created_at integer NOT NULL,
  expires_at integer
) STRICT;

CREATE INDEX api_key_secrets_by_key ON api_key_secrets (key_id);

CREATE TABLE key_usage (
  key_id integer PRIMARY KEY,
  minute_ends_at integer NOT NULL,
  minute_used integer NOT NULL,
  day_ends_at integer NOT NULL,
  day_used integer NOT NULL,
  rejections integer NOT NULL,
  rejections_until integer NOT NULL,
  banned_at integer NOT NULL,
  banned_until integer NOT NULL,
  ban_level integer NOT NULL,
  last_used_at integer NOT NULL
) STRICT;

-- Requests by key, bucket of time and name. The key 0 has the requests of all keys, and those without a valid key.
CREATE TABLE usage_counts (
  key_id integer NOT NULL,
  bucket_ms integer NOT NULL,
  starts_at integer NOT NULL,
  name text NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (key_id, bucket_ms, starts_at, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_counts_by_age ON usage_counts (bucket_ms, starts_at);

CREATE TABLE audit_entries (
  id integer PRIMARY KEY AUTOINCREMENT,
  at integer NOT NULL,
  actor_key_id integer,
  actor_command text,
  action text NOT NULL,
  subject text NOT NULL,
  request_id text,
  CHECK ((actor_key_id IS NULL) <> (actor_command IS NULL))
) STRICT;

-- Entries are only added, and deleted after their retention.
CREATE TRIGGER audit_entries_append_only BEFORE UPDATE ON audit_entries BEGIN
  SELECT RAISE(ABORT, 'The audit log is append-only.');
END;

-- Imports that have not ended, by the hash of their file and options: the last line that is committed.
CREATE TABLE imports (
  digest text PRIMARY KEY,
  line integer NOT NULL,
  updated_at integer NOT NULL
) STRICT;

CREATE TABLE idempotency_records (
  key_id integer NOT NULL,
  idempotency_key text NOT NULL,
  fingerprint text NOT NULL,
  status integer NOT NULL,
  headers text NOT NULL,
  body text NOT NULL,
  created_at integer NOT NULL,
  subject_ref text,
  PRIMARY KEY (key_id, idempotency_key)
) STRICT;

CREATE INDEX idempotency_records_by_age ON idempotency_records (created_at);
CREATE INDEX idempotency_records_by_subject ON idempotency_records (subject_ref) WHERE subject_ref IS NOT NULL;
