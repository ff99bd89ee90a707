-- The rules of an idempotency key in one function instead of CHECKs that are read anew in every statement; see
-- 0033-payment-rules.sql.

CREATE FUNCTION idempotency_key_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (r.verb IN ('POST', 'PATCH')) THEN 'idempotency_key_verb_check'
    WHEN NOT (char_length(r.path) <= 256) THEN 'idempotency_key_path_check'
    WHEN NOT (char_length(r.key) BETWEEN 1 AND 255) THEN 'idempotency_key_key_check'
    WHEN NOT (r.fingerprint ~ '^[0-9a-f]{64}$') THEN 'idempotency_key_fingerprint_check'
    WHEN NOT (r.answer_status BETWEEN 200 AND 599) THEN 'idempotency_key_answer_status_check'
    WHEN NOT ((r.answer_status IS NULL) = (r.answer_body IS NULL)) THEN 'idempotency_key_check'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'idempotency_key', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "idempotency_key" violates check constraint "%s"', broken);
END $$;

ALTER TABLE idempotency_key ADD CONSTRAINT idempotency_key_rules CHECK (idempotency_key_follows_rules(idempotency_key)) NOT VALID;
ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_verb_check;
ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_path_check;
ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_key_check;
ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_fingerprint_check;
ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_answer_status_check;
ALTER TABLE idempotency_key DROP CONSTRAINT idempotency_key_check;
