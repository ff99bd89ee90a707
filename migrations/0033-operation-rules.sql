-- The rules of an operation in one function instead of CHECKs that are read anew in every statement; see
-- 0033-payment-rules.sql.

CREATE FUNCTION operation_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (r.sequence > 0) THEN 'operation_sequence_check'
    WHEN NOT (r.type IN ('AUTHORIZATION', 'CONFIRM', 'INCREMENTAL', 'CAPTURE', 'REVERSAL', 'REFUND', 'CREDIT',
      'RETURN'))
      THEN 'operation_type_known'
    WHEN NOT (r.state IN ('SENT', 'AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'FAILED'))
      THEN 'operation_state_check'
    WHEN NOT (r.amount BETWEEN 0 AND 999999999999) THEN 'operation_amount_check'
    WHEN NOT (char_length(r.trans_id) BETWEEN 1 AND 64) THEN 'operation_trans_id_check'
    WHEN NOT (char_length(r.ref_nr) <= 40) THEN 'operation_ref_nr_check'
    WHEN NOT (r.response_code ~ '^[0-9]{8}$') THEN 'operation_response_code_check'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'operation', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "operation" violates check constraint "%s"', broken);
END $$;

ALTER TABLE operation ADD CONSTRAINT operation_rules CHECK (operation_follows_rules(operation)) NOT VALID;
ALTER TABLE operation DROP CONSTRAINT operation_sequence_check;
ALTER TABLE operation DROP CONSTRAINT operation_type_known;
ALTER TABLE operation DROP CONSTRAINT operation_state_check;
ALTER TABLE operation DROP CONSTRAINT operation_amount_check;
ALTER TABLE operation DROP CONSTRAINT operation_trans_id_check;
ALTER TABLE operation DROP CONSTRAINT operation_ref_nr_check;
ALTER TABLE operation DROP CONSTRAINT operation_response_code_check;
