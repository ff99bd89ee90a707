-- The whole life of a payment: credits without a payment behind them, customer steps with a deadline, and timers for
-- everything that happens by itself.

ALTER TABLE payment
  -- CREDIT: money sent to a card or account without reference to a payment.
  ADD COLUMN kind text NOT NULL DEFAULT 'PAYMENT' CHECK (kind IN ('PAYMENT', 'CREDIT')),
  -- Until when the customer (or the merchant's confirm) may finish what was begun.
  ADD COLUMN expires_at timestamptz,
  -- Whose move it is while nothing is approved.
  ADD COLUMN awaits text CHECK (awaits IN ('CUSTOMER', 'CONFIRM')),
  DROP CONSTRAINT payment_refunds_within_captures,
  ADD CONSTRAINT payment_refunds_within_captures
    CHECK (CASE kind WHEN 'CREDIT' THEN refunding + refunded <= amount ELSE refunding + refunded <= captured END),
  ADD CONSTRAINT payment_credit_takes_nothing
    CHECK (kind <> 'CREDIT' OR (authorized = 0 AND captured = 0 AND capturing = 0));
ALTER TABLE payment ALTER COLUMN kind DROP DEFAULT;

ALTER TABLE timer
  DROP CONSTRAINT timer_kind_check,
  -- INQUIRY: ask what became of an operation. CAPTURE: a delayed capture. LAPSE: an authorisation ends.
  -- EXPIRE: the customer did not come back in time.
  ADD CONSTRAINT timer_kind_check CHECK (kind IN ('INQUIRY', 'CAPTURE', 'LAPSE', 'EXPIRE'));
CREATE INDEX timer_by_merchant ON timer (merchant_id, run_at);

-- From now on in the merchant's time, like everything a test clock moves.
ALTER TABLE idempotency_key ALTER COLUMN created_at DROP DEFAULT;

