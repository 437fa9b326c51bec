-- Restarts the feed of events far above every id that anybody has seen. For PostgreSQL after a restore to an earlier
-- moment, with all instances stopped: ids that followers know would otherwise be given out a second time, to other events.
-- Whoever follows is then answered 410 events_expired, and lists anew.
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/restart-feed.sql
BEGIN;
INSERT INTO cursors (name, value)
  SELECT 'events.pruned', 1000000 + greatest(
    coalesce((SELECT max(id) FROM events), 0),
    coalesce((SELECT value FROM cursors WHERE name = 'events.pruned'), 0))
  ON CONFLICT (name) DO UPDATE SET value = excluded.value;
DELETE FROM events;
COMMIT;
