-- Restarts the feed of events far above every id that callers have seen. For PostgreSQL after a restore to an earlier
-- moment, with all instances stopped: otherwise ids that callers know would be assigned again, to other events. Callers
-- that follow the feed then receive 410 events_expired and list the events again.
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/restart-feed.sql
BEGIN;
INSERT INTO cursors (name, value)
  SELECT 'events.pruned', 1000000 + last_assigned_id('events')
  ON CONFLICT (name) DO UPDATE SET value = excluded.value;
DELETE FROM events;
COMMIT;
