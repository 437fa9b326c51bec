-- The arithmetic of the rate limiter as functions, so that admitting a request is one round trip. admit_1 finds the key,
-- checks its origins, its ban and both windows, and consumes from both windows or from neither, for one or more requests
-- of one key. A changed version of a function gets a new name, because instances of the previous release call the old one.

CREATE FUNCTION consume_windows_1(
  INOUT minute_ends bigint, INOUT minute_used bigint, minute_max bigint,
  INOUT day_ends bigint, INOUT day_used bigint, day_max bigint,
  at bigint, wanted bigint, OUT granted bigint, OUT resets_at bigint
) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  minute_left bigint;
  day_left bigint;
BEGIN
  -- After the clock was set back no window lasts longer than its length.
  minute_ends := least(minute_ends, at + 60000);
  day_ends := least(day_ends, at + 86400000);
  minute_left := CASE WHEN at < minute_ends THEN greatest(0, minute_max - minute_used) ELSE minute_max END;
  day_left := CASE WHEN at < day_ends THEN greatest(0, day_max - day_used) ELSE day_max END;
  granted := least(wanted, minute_left, day_left);
  minute_left := minute_left - granted;
  day_left := day_left - granted;
  IF granted > 0 THEN
    IF at >= minute_ends THEN minute_ends := at + 60000; minute_used := 0; END IF;
    IF at >= day_ends THEN day_ends := at + 86400000; day_used := 0; END IF;
    minute_used := minute_used + granted;
    day_used := day_used + granted;
  END IF;
  -- The reset of the window with the fewest requests left. On a tie, the later reset.
  resets_at := CASE
    WHEN minute_left < day_left THEN CASE WHEN at < minute_ends THEN minute_ends ELSE at + 60000 END
    WHEN day_left < minute_left THEN CASE WHEN at < day_ends THEN day_ends ELSE at + 86400000 END
    ELSE greatest(
      CASE WHEN at < minute_ends THEN minute_ends ELSE at + 60000 END,
      CASE WHEN at < day_ends THEN day_ends ELSE at + 86400000 END)
  END;
END $$;

CREATE FUNCTION admit_address_1(
  client_address text, minute_max bigint, day_max bigint, wanted bigint, fixed_now bigint,
  OUT at bigint, OUT granted bigint, OUT usage address_usage
) LANGUAGE plpgsql AS $$
DECLARE
  consumed record;
BEGIN
  LOOP
    SELECT * INTO usage FROM address_usage WHERE address = client_address FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO address_usage VALUES (client_address, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  -- Read the clock after the row is locked: a request that waited must not use an older time than the one before it.
  at := coalesce(fixed_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  consumed := consume_windows_1(
    usage.minute_ends_at, usage.minute_used, minute_max, usage.day_ends_at, usage.day_used, day_max, at, wanted);
  granted := consumed.granted;
  usage.minute_ends_at := consumed.minute_ends;
  usage.minute_used := consumed.minute_used;
  usage.day_ends_at := consumed.day_ends;
  usage.day_used := consumed.day_used;
  UPDATE address_usage SET
    minute_ends_at = usage.minute_ends_at, minute_used = usage.minute_used,
    day_ends_at = usage.day_ends_at, day_used = usage.day_used
  WHERE address = client_address;
END $$;

CREATE FUNCTION admit_key_1(
  of_key api_keys, minute_max bigint, day_max bigint, ban_after bigint, wanted bigint, fixed_now bigint,
  OUT at bigint, OUT admitted bigint, OUT limited bigint, OUT is_new_ban boolean, OUT usage key_usage
) LANGUAGE plpgsql AS $$
DECLARE
  consumed record;
  ahead bigint;
  rejected bigint;
  -- Publishable keys are public: any reader of the page could get them banned.
  is_bannable boolean := of_key.origins = '[]';
BEGIN
  is_new_ban := false;
  limited := 0;
  IF wanted = 0 THEN
    SELECT * INTO usage FROM key_usage WHERE key_id = of_key.id;
    IF NOT FOUND THEN usage := ROW(of_key.id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); END IF;
  ELSE
    LOOP
      SELECT * INTO usage FROM key_usage WHERE key_id = of_key.id FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO key_usage VALUES (of_key.id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
    END LOOP;
  END IF;
  at := coalesce(fixed_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  -- A ban that the operator cleared does not count for the level of the next one.
  IF usage.banned_at > 0 AND usage.banned_at <= of_key.unbanned_at THEN
    usage.banned_at := 0;
    usage.banned_until := 0;
    usage.ban_level := 0;
  END IF;
  ahead := greatest(0, usage.banned_at - at);
  usage.banned_at := usage.banned_at - ahead;
  usage.banned_until := usage.banned_until - ahead;
  consumed := consume_windows_1(
    usage.minute_ends_at, usage.minute_used, minute_max, usage.day_ends_at, usage.day_used, day_max, at,
    CASE WHEN is_bannable AND at < usage.banned_until THEN 0 ELSE wanted END);
  usage.minute_ends_at := consumed.minute_ends;
  usage.minute_used := consumed.minute_used;
  usage.day_ends_at := consumed.day_ends;
  usage.day_used := consumed.day_used;
  admitted := consumed.granted;
  rejected := wanted - admitted;
  IF wanted = 0 THEN RETURN; END IF;
  IF NOT is_bannable THEN
    limited := rejected;
  ELSIF rejected > 0 AND at >= usage.banned_until THEN
    usage.rejections := CASE WHEN usage.rejections_until = consumed.resets_at THEN usage.rejections ELSE 0 END;
    usage.rejections_until := consumed.resets_at;
    limited := least(rejected, greatest(0, ban_after - usage.rejections - 1));
    usage.rejections := usage.rejections + rejected;
    IF usage.rejections >= ban_after THEN
      is_new_ban := true;
      usage.ban_level := CASE
        WHEN usage.banned_until > 0 AND at < usage.banned_until + 86400000 THEN usage.ban_level + 1 ELSE 0 END;
      usage.banned_at := at;
      usage.banned_until := at + least(300000 * 2 ^ least(usage.ban_level, 20), 86400000)::bigint;
      usage.rejections := 0;
      usage.rejections_until := 0;
    END IF;
  END IF;
  usage.last_used_at := at;
  UPDATE key_usage SET
    minute_ends_at = usage.minute_ends_at, minute_used = usage.minute_used,
    day_ends_at = usage.day_ends_at, day_used = usage.day_used,
    rejections = usage.rejections, rejections_until = usage.rejections_until,
    banned_at = usage.banned_at, banned_until = usage.banned_until,
    ban_level = usage.ban_level, last_used_at = usage.last_used_at
  WHERE key_id = of_key.id;
  IF is_new_ban THEN
    PERFORM append_changes_1(
      ARRAY['key.banned'], ARRAY[at],
      ARRAY[format('{"id":%s,"bannedUntil":"%s"}', of_key.id,
        to_char(to_timestamp(usage.banned_until / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))],
      ARRAY[1::bigint]);
    INSERT INTO audit_entries (at, actor_command, action, subject)
    VALUES (at, 'serve', 'key.banned', 'key ' || of_key.id);
  END IF;
END $$;

CREATE FUNCTION admit_1(
  secret_hash text, is_other_environment boolean, wanted bigint, request_origins text[], is_exempt boolean, client_address text,
  plans jsonb, address_minute_max bigint, address_day_max bigint, exempt_minute_max bigint, exempt_day_max bigint,
  ban_after bigint, fixed_now bigint
) RETURNS TABLE (
  at bigint, key_id bigint, name text, plan text, per_minute bigint, per_day bigint, scopes text, origins text,
  expires_at bigint, revoked_at bigint, unbanned_at bigint, secret_expires_at bigint,
  admitted bigint, limited bigint, is_new_ban boolean, minute_ends_at bigint, minute_used bigint, day_ends_at bigint, day_used bigint,
  banned_until bigint, free bigint, free_used_up_until bigint, database_version bigint, address_granted bigint,
  address_minute_ends_at bigint, address_minute_used bigint, address_day_ends_at bigint, address_day_used bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  found record;
  found_key api_keys;
  allowed bigint;
  is_known boolean := false;
  counted record;
  address_result record;
BEGIN
  free := 0;
  free_used_up_until := 0;
  -- The counts need not be durable: a crash loses the last moments, in the caller's favour.
  PERFORM set_config('synchronous_commit', 'off', true);
  at := coalesce(fixed_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
  -- Waits for the counts of the key first, and then reads the key: it may have been changed meanwhile.
  PERFORM 1 FROM key_usage u WHERE NOT is_exempt AND u.key_id = (
    SELECT s.key_id FROM api_key_secrets s WHERE s.hash = secret_hash) FOR UPDATE;
  SELECT k AS key, s.expires_at INTO found
  FROM api_key_secrets s JOIN api_keys k ON k.id = s.key_id WHERE s.hash = secret_hash;
  found_key := found.key;
  secret_expires_at := found.expires_at;
  key_id := found_key.id;
  IF key_id IS NOT NULL THEN
    name := found_key.name;
    plan := found_key.plan;
    per_minute := found_key.per_minute;
    per_day := found_key.per_day;
    scopes := found_key.scopes;
    origins := found_key.origins;
    expires_at := found_key.expires_at;
    revoked_at := found_key.revoked_at;
    unbanned_at := found_key.unbanned_at;
  END IF;
  IF key_id IS NOT NULL AND NOT is_other_environment AND revoked_at IS NULL
    AND at < coalesce(expires_at, at + 1) AND at < coalesce(secret_expires_at, at + 1) THEN
    -- A publishable key pays only for requests from its allowed origins.
    allowed := CASE WHEN found_key.origins = '[]' THEN wanted
      ELSE (SELECT count(*) FROM unnest(request_origins) AS o WHERE found_key.origins::jsonb ? o) END;
    is_known := wanted = 0 OR allowed > 0;
  END IF;
  IF is_known THEN
    counted := admit_key_1(
      found_key,
      CASE WHEN plan = 'enterprise' THEN coalesce(per_minute, (plans->plan->>'perMinute')::bigint)
        ELSE (plans->plan->>'perMinute')::bigint END,
      CASE WHEN plan = 'enterprise' THEN coalesce(per_day, (plans->plan->>'perDay')::bigint)
        ELSE (plans->plan->>'perDay')::bigint END,
      ban_after, CASE WHEN is_exempt THEN 0 ELSE allowed END, fixed_now);
    at := counted.at;
    admitted := counted.admitted;
    limited := counted.limited;
    is_new_ban := counted.is_new_ban;
    minute_ends_at := (counted.usage).minute_ends_at;
    minute_used := (counted.usage).minute_used;
    day_ends_at := (counted.usage).day_ends_at;
    day_used := (counted.usage).day_used;
    banned_until := CASE WHEN found_key.origins = '[]' THEN (counted.usage).banned_until ELSE 0 END;
  END IF;
  IF is_known AND is_exempt AND at >= banned_until THEN
    address_result := admit_address_1('key ' || key_id, exempt_minute_max, exempt_day_max, allowed, fixed_now);
    at := address_result.at;
    free := address_result.granted;
    IF (address_result.usage).minute_used >= exempt_minute_max THEN
      free_used_up_until := (address_result.usage).minute_ends_at;
    END IF;
  END IF;
  -- The address pays for requests without a valid key, and for exempt requests beyond the exempt allowance of a key.
  IF client_address IS NOT NULL AND (NOT is_known OR (is_exempt AND free = 0)) THEN
    address_result := admit_address_1(client_address, address_minute_max, address_day_max, 1, fixed_now);
    at := address_result.at;
    address_granted := address_result.granted;
    address_minute_ends_at := (address_result.usage).minute_ends_at;
    address_minute_used := (address_result.usage).minute_used;
    address_day_ends_at := (address_result.usage).day_ends_at;
    address_day_used := (address_result.usage).day_used;
  END IF;
  database_version := (SELECT sum(c.changes) FROM counter_slots c);
  RETURN NEXT;
END $$;
