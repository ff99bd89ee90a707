-- The customer's bank takes a debit back whole, even if it was refunded before: returns and refunds are each held to what
-- was captured, no longer their sum. All other rules are as they were.

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
    WHEN NOT (r.currency ~ '^[A-Z]{3}$') THEN 'payment_currency_check'
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
