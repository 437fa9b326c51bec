-- An external id is unique within its source. The external ids of earlier versions have an empty source.
ALTER TABLE pets ADD COLUMN source text NOT NULL DEFAULT '';
-- Null for pets that were added before this version.
ALTER TABLE pets ADD COLUMN created_at integer;
-- Of the pet, its profile or its photos.
ALTER TABLE pets ADD COLUMN updated_at integer;
ALTER TABLE pets ADD COLUMN adopted_on text;
DROP INDEX pets_by_external_id;
CREATE UNIQUE INDEX pets_by_external_id ON pets (external_id, source) WHERE external_id IS NOT NULL;

CREATE TABLE profiles (
  pet_id integer PRIMARY KEY REFERENCES pets (id) ON DELETE CASCADE,
  listed integer NOT NULL,
  data text NOT NULL
) STRICT;

-- Each pair is stored in both directions.
CREATE TABLE pet_bonds (
  pet_id integer NOT NULL REFERENCES pets (id) ON DELETE CASCADE,
  other_id integer NOT NULL REFERENCES pets (id) ON DELETE CASCADE,
  PRIMARY KEY (pet_id, other_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX pet_bonds_by_other ON pet_bonds (other_id);

CREATE TABLE photos (
  id integer PRIMARY KEY AUTOINCREMENT,
  token text NOT NULL UNIQUE,
  pet_id integer NOT NULL REFERENCES pets (id) ON DELETE CASCADE,
  position integer NOT NULL,
  alt text,
  caption text,
  width integer NOT NULL,
  height integer NOT NULL,
  color text NOT NULL,
  created_at integer NOT NULL,
  updated_at integer NOT NULL
) STRICT;

CREATE INDEX photos_by_pet ON photos (pet_id, position);

-- Without a reference to photos: the files of deleted photos are deleted in bounded steps.
CREATE TABLE photo_files (
  photo_id integer NOT NULL,
  name text NOT NULL,
  bytes blob NOT NULL,
  PRIMARY KEY (photo_id, name)
) STRICT;

-- The photos whose files are still to be deleted.
CREATE TABLE deleted_photos (
  photo_id integer PRIMARY KEY
) STRICT;

CREATE TRIGGER photos_delete AFTER DELETE ON photos BEGIN
  INSERT INTO deleted_photos (photo_id) VALUES (OLD.id);
END;

-- Who made the change. Null for events of earlier versions.
ALTER TABLE events ADD COLUMN actor text;
-- The pet that the event is about.
ALTER TABLE events ADD COLUMN subject_id integer
  GENERATED ALWAYS AS (CASE WHEN type LIKE 'pet.%' THEN data ->> '$.id' ELSE data ->> '$.petId' END) VIRTUAL;
CREATE INDEX events_by_subject ON events (subject_id, id) WHERE subject_id IS NOT NULL;

-- The search index: the terms of each pet. A job fills it.
CREATE VIRTUAL TABLE listing_terms USING fts5 (
  terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'", prefix = '5 6'
);

INSERT INTO listing_terms (listing_terms, rank) VALUES ('automerge', 0), ('usermerge', 2);
