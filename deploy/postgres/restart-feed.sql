-- Begins the feed of events anew, far above every id that anybody has seen. For PostgreSQL after a restore to an earlier
-- moment, with all instances stopped: ids that followers know would otherwise be given out a second time, to other events.
-- Whoever follows is then answered 410 events_expired, and lists anew.
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/restart-feed.sql
BEGIN;
DELETE FROM events;
SELECT setval(sequence, nextval(sequence) + 1000000) AS start
  FROM pg_get_serial_sequence('events', 'id') AS sequence \gset
INSERT INTO positions (name, value) VALUES ('events.pruned', :start)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value;
COMMIT;
