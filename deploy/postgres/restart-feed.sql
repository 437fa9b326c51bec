-- Restarts the event feed at an id far above all ids that clients have seen. Run it after a restore of PostgreSQL to an
-- earlier point in time, while all instances are stopped. Without it, event ids would be assigned twice. Clients that
-- follow the feed then get 410 events_expired and read the full list again.
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/restart-feed.sql
BEGIN;
UPDATE feed_head SET last_id = last_id + 1000000, settled = '0';
INSERT INTO cursors (name, value)
  SELECT 'events.pruned', last_id FROM feed_head
  ON CONFLICT (name) DO UPDATE SET value = excluded.value;
DELETE FROM events;
COMMIT;
