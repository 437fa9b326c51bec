-- Creates pets with one statement, which is a transaction of its own. A request with an Idempotency-Key has a key_id, an
-- idempotency_key and a fingerprint. Returns the ids in the order of the requests: null if the request has a record
-- already, or if another transaction runs it.

CREATE FUNCTION create_pets_1(
  names text[], category_ids bigint[], statuses text[], json_tails text[], times bigint[],
  key_ids bigint[], idempotency_keys text[], fingerprints text[], retention_ms bigint, location_base text
) RETURNS TABLE (id bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  is_locked boolean[];
  ids bigint[];
  new_categories bigint[];
BEGIN
  IF num_nonnulls(VARIADIC idempotency_keys) > 0 THEN
    SELECT array_agg(
      CASE WHEN r.key IS NULL THEN true ELSE pg_try_advisory_xact_lock(
        hashtextextended(current_schema() || ' idempotency ' || r.key_id || ' ' || r.key, 0)) END
      ORDER BY place)
    INTO is_locked
    FROM unnest(key_ids, idempotency_keys) WITH ORDINALITY AS r (key_id, key, place);
  ELSE
    is_locked := array_fill(true, ARRAY[array_length(names, 1)]);
  END IF;
  -- In a statement after the lock, which sees the records of the transactions that had it before.
  SELECT array_agg(CASE WHEN is_new THEN nextval('pets_id_seq') END ORDER BY place) INTO ids
  FROM (
    SELECT place, locked AND NOT EXISTS (
      SELECT 1 FROM idempotency_records AS i
      WHERE i.key_id = r.key_id AND i.idempotency_key = r.key AND i.created_at > r.at - retention_ms) AS is_new
    FROM unnest(is_locked, key_ids, idempotency_keys, times) WITH ORDINALITY AS r (locked, key_id, key, at, place)
    ORDER BY place
  ) AS requests;
  PERFORM 1 FROM categories WHERE category_id = ANY (category_ids) ORDER BY category_id FOR KEY SHARE;
  WITH added AS (
    INSERT INTO categories (category_id)
    SELECT DISTINCT c.id FROM unnest(category_ids, ids) AS c (id, pet_id)
    WHERE c.pet_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM categories AS e WHERE e.category_id = c.id)
    ORDER BY c.id
    ON CONFLICT DO NOTHING RETURNING category_id
  )
  SELECT coalesce(array_agg(category_id ORDER BY category_id), '{}') INTO new_categories FROM added;
  INSERT INTO pets (id, name, category_id, status)
  SELECT p.id, p.name, p.category_id, p.status
  FROM unnest(ids, names, category_ids, statuses) AS p (id, name, category_id, status) WHERE p.id IS NOT NULL;
  INSERT INTO idempotency_records AS i (key_id, idempotency_key, fingerprint, status, headers, body, created_at)
  SELECT r.key_id, r.key, r.fingerprint, 201, json_build_object(
      'Location', location_base || r.pet_id,
      'ETag', '"' || left(translate(encode(sha256(convert_to(json, 'UTF8')), 'base64'), '+/', '-_'), 27) || '"'
    )::text, json, r.at
  FROM unnest(ids, key_ids, idempotency_keys, fingerprints, times, json_tails)
    AS r (pet_id, key_id, key, fingerprint, at, tail),
    LATERAL (SELECT '{"id":' || r.pet_id || r.tail AS json) AS body
  WHERE r.pet_id IS NOT NULL AND r.key IS NOT NULL
  ON CONFLICT (key_id, idempotency_key) DO UPDATE SET
    fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
    body = excluded.body, created_at = excluded.created_at, subject_ref = NULL;
  PERFORM append_changes_1(
    array_agg(type ORDER BY kind, place), array_agg(at ORDER BY kind, place), array_agg(data ORDER BY kind, place),
    array_agg(0::bigint))
  FROM (
    SELECT 1 AS kind, place, 'category.created' AS type, times[1] AS at, '{"id":' || c || '}' AS data
    FROM unnest(new_categories) WITH ORDINALITY AS added (c, place)
    UNION ALL
    SELECT 2, place, 'pet.created', p.at, '{"id":' || p.id || p.tail
    FROM unnest(ids, times, json_tails) WITH ORDINALITY AS p (id, at, tail, place) WHERE p.id IS NOT NULL
  ) AS events
  HAVING count(*) > 0;
  RETURN QUERY SELECT unnest(ids);
END $$;
