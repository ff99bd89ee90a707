-- The rules as they were, with patterns spelt out: PostgreSQL builds the automaton of a regular expression anew for every
-- row, which took as long as all other rules of a row together (measured).

CREATE OR REPLACE FUNCTION payment_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (char_length(r.trans_id) BETWEEN 1 AND 64) THEN 'payment_trans_id_check'
    WHEN NOT (char_length(r.ref_nr) <= 40) THEN 'payment_ref_nr_check'
    WHEN NOT (char_length(r.method) <= 40) THEN 'payment_method_check'
    WHEN NOT (r.integration_type IN ('HOSTED', 'DIRECT')) THEN 'payment_integration_type_check'
    WHEN NOT (r.status IN ('AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'FAILED',
      'REVERSED'))
      THEN 'payment_status_check'
    WHEN NOT (char_length(r.currency) = 3 AND translate(r.currency, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '') = '')
      THEN 'payment_currency_check'
    WHEN NOT (r.amount BETWEEN 0 AND 999999999999) THEN 'payment_amount_check'
    WHEN NOT (r.authorized >= 0) THEN 'payment_authorized_check'
    WHEN NOT (r.capturing >= 0) THEN 'payment_capturing_check'
    WHEN NOT (r.captured >= 0) THEN 'payment_captured_check'
    WHEN NOT (r.reversing >= 0) THEN 'payment_reversing_check'
    WHEN NOT (r.reversed >= 0) THEN 'payment_reversed_check'
    WHEN NOT (r.refunding >= 0) THEN 'payment_refunding_check'
    WHEN NOT (r.refunded >= 0) THEN 'payment_refunded_check'
    WHEN NOT (r.returned BETWEEN 0 AND 1999999999998) THEN 'payment_returned_range'
    WHEN NOT (r.disputed BETWEEN 0 AND 9999999999999) THEN 'payment_disputed_range'
    WHEN NOT (r.capture_percent BETWEEN 100 AND 200) THEN 'payment_capture_percent_check'
    WHEN NOT (r.capture_method IN ('AUTOMATIC', 'MANUAL', 'DELAYED')) THEN 'payment_capture_method_check'
    WHEN NOT (r.delayed_hours BETWEEN 1 AND 696) THEN 'payment_delayed_hours_check'
    WHEN NOT (r.event_sequence >= 0) THEN 'payment_event_sequence_check'
    WHEN NOT (r.version > 0) THEN 'payment_version_check'
    WHEN NOT (r.kind IN ('PAYMENT', 'CREDIT')) THEN 'payment_kind_check'
    WHEN NOT (r.awaits IN ('CUSTOMER', 'CONFIRM')) THEN 'payment_awaits_check'
    WHEN NOT (char_length(r.order_reference) <= 255) THEN 'payment_order_reference_check'
    WHEN NOT (char_length(r.invoice_id) <= 255) THEN 'payment_invoice_id_check'
    WHEN NOT (char_length(r.connector) <= 64) THEN 'payment_connector_length'
    WHEN NOT (char_length(r.provider_account) <= 64) THEN 'payment_provider_account_length'
    WHEN NOT ((r.provider_account IS NULL) = (r.connector IS NULL)) THEN 'payment_provider_whole'
    WHEN NOT ((r.capturing + r.captured + r.reversing + r.reversed) * 100 <= r.authorized * r.capture_percent)
      THEN 'payment_captures_within_ceiling'
    WHEN NOT (CASE r.kind WHEN 'CREDIT' THEN r.refunding + r.refunded <= r.amount
      ELSE r.refunding + r.refunded <= r.captured END)
      THEN 'payment_refunds_within_captures'
    WHEN NOT (r.kind = 'CREDIT' OR r.returned <= r.captured)
      THEN 'payment_returns_within_captures'
    WHEN NOT (r.kind <> 'CREDIT' OR (r.authorized = 0 AND r.captured = 0 AND r.capturing = 0))
      THEN 'payment_credit_takes_nothing'
    WHEN NOT (r.live = (r.status NOT IN ('FAILED', 'REVERSED'))) THEN 'payment_dead_holds_nothing'
    WHEN NOT (r.status <> 'FAILED' OR (r.authorized = 0 AND r.captured = 0 AND r.capturing = 0))
      THEN 'payment_failed_moved_nothing'
    WHEN NOT ((r.capture_method = 'DELAYED') = (r.delayed_hours IS NOT NULL)) THEN 'payment_delay_is_given'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'payment', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "payment" violates check constraint "%s"', broken);
END $$;

CREATE OR REPLACE FUNCTION operation_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
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
    WHEN NOT (char_length(r.response_code) = 8 AND translate(r.response_code, '0123456789', '') = '')
      THEN 'operation_response_code_check'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'operation', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "operation" violates check constraint "%s"', broken);
END $$;

CREATE OR REPLACE FUNCTION vault_card_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (char_length(r.pseudo_number) = 16 AND left(r.pseudo_number, 1) = '0'
      AND translate(r.pseudo_number, '0123456789', '') = '')
      THEN 'vault_card_pseudo_number_check'
    WHEN NOT (octet_length(r.sealed) <= 128) THEN 'vault_card_sealed_check'
    WHEN NOT (char_length(r.expiry_date) = 6 AND translate(r.expiry_date, '0123456789', '') = '')
      THEN 'vault_card_expiry_date_check'
    WHEN NOT ((r.sealed IS NULL) = (r.destroyed_at IS NOT NULL)) THEN 'vault_card_check'
    WHEN NOT (r.delete_after_use_at IS NULL OR r.destroyed_at IS NULL) THEN 'vault_card_destroyed_once'
  END;
BEGIN
  IF broken IS NULL THEN
    RETURN true;
  END IF;
  RAISE check_violation USING TABLE = 'vault_card', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "vault_card" violates check constraint "%s"', broken);
END $$;

CREATE OR REPLACE FUNCTION idempotency_key_follows_rules(r record) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken text := CASE
    WHEN NOT (r.verb IN ('POST', 'PATCH')) THEN 'idempotency_key_verb_check'
    WHEN NOT (char_length(r.path) <= 256) THEN 'idempotency_key_path_check'
    WHEN NOT (char_length(r.key) BETWEEN 1 AND 255) THEN 'idempotency_key_key_check'
    WHEN NOT (char_length(r.fingerprint) = 64 AND translate(r.fingerprint, '0123456789abcdef', '') = '')
      THEN 'idempotency_key_fingerprint_check'
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
