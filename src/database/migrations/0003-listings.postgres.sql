-- The next pets above an id whose terms match, nearest first. In the three steps of find_listings_1.
CREATE FUNCTION find_listings_above_1(query tsquery, above bigint, rows_max bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  nearest_max CONSTANT bigint := 3000;
  matches_max CONSTANT bigint := 4000;
  hits bigint[];
  matches bigint[];
  highest bigint;
BEGIN
  SELECT array_agg(t.id ORDER BY t.id) FILTER (WHERE t.terms @@ query), max(t.id)
  INTO hits, highest
  FROM (SELECT l.id, l.terms FROM listing_terms AS l WHERE l.id > above ORDER BY l.id LIMIT nearest_max) AS t;
  hits := coalesce(hits, '{}');
  IF highest IS NULL OR cardinality(hits) >= rows_max THEN
    RETURN QUERY SELECT unnest(hits[1:rows_max]);
    RETURN;
  END IF;
  -- The sum keeps the planner from the primary key.
  SELECT array_agg(t.id) INTO matches
  FROM (SELECT l.id FROM listing_terms AS l WHERE l.terms @@ query AND l.id + 0 > highest LIMIT matches_max + 1) AS t;
  IF cardinality(matches) > matches_max THEN
    SELECT array_agg(t.id) INTO matches
    FROM (
      SELECT l.id FROM listing_terms AS l WHERE l.id > highest AND l.terms @@ query
      ORDER BY l.id LIMIT rows_max - cardinality(hits)
    ) AS t;
  END IF;
  RETURN QUERY
    SELECT t.id FROM unnest(hits || matches) AS t (id) ORDER BY t.id LIMIT rows_max;
END $$;
