-- Where an import has got the photo from. Null for uploads.
ALTER TABLE photos ADD COLUMN source text;
-- When an import has unlisted the pet, because its file did not have it any more.
ALTER TABLE profiles ADD COLUMN missing_since integer;

-- Imports over HTTP. The files themselves are not stored.
CREATE TABLE import_jobs (
  id text PRIMARY KEY,
  state text NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL,
  expires_at integer NOT NULL,
  data text NOT NULL
) STRICT;

-- What an import still has to apply, in the order of the file. The batches of an erased import are deleted later, in
-- bounded steps, so they do not refer to it.
CREATE TABLE import_batches (
  import_id text NOT NULL,
  position integer NOT NULL,
  data text NOT NULL,
  PRIMARY KEY (import_id, position)
) STRICT;
