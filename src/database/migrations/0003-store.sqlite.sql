-- At most one row: the store's own data.
CREATE TABLE store_profile (
  id integer PRIMARY KEY CHECK (id = 1),
  data text NOT NULL
) STRICT;
