-- The rules of an event in one function instead of CHECKs that are read anew in every statement; see 0033-payment-rules.sql.

CREATE FUNCTION event_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (r.sequence > 0) THEN 'event_sequence_check'
    WHEN NOT (char_length(r.url) <= 2048) THEN 'event_url_check'
    WHEN NOT (r.status IN ('PENDING', 'DELIVERED', 'FAILED')) THEN 'event_status_check'
    WHEN NOT (r.attempts >= 0) THEN 'event_attempts_check'
    WHEN NOT (r.tries >= 0) THEN 'event_tries_check'
    WHEN NOT (r.round >= 0) THEN 'event_round_check'
    WHEN NOT (char_length(r.sent_to) <= 2048) THEN 'event_sent_to_check'
    WHEN NOT (r.tries <= r.attempts) THEN 'event_check'
    WHEN NOT ((r.status = 'PENDING') = (r.due_at IS NOT NULL)) THEN 'event_pending_is_due'
    WHEN NOT (char_length(r.type) <= 40) THEN 'event_type_length'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'event', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "event" violates check constraint "%s"', broken);
END $$;

ALTER TABLE event ADD CONSTRAINT event_rules CHECK (event_follows_rules(event)) NOT VALID;
ALTER TABLE event DROP CONSTRAINT event_sequence_check;
ALTER TABLE event DROP CONSTRAINT event_url_check;
ALTER TABLE event DROP CONSTRAINT event_status_check;
ALTER TABLE event DROP CONSTRAINT event_attempts_check;
ALTER TABLE event DROP CONSTRAINT event_tries_check;
ALTER TABLE event DROP CONSTRAINT event_round_check;
ALTER TABLE event DROP CONSTRAINT event_sent_to_check;
ALTER TABLE event DROP CONSTRAINT event_check;
ALTER TABLE event DROP CONSTRAINT event_pending_is_due;
ALTER TABLE event DROP CONSTRAINT event_type_length;
