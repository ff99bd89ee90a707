-- Debits that the customer's bank sends back after they were captured.

ALTER TABLE timer
  DROP CONSTRAINT timer_kind_check,
  -- INQUIRY: ask what became of an operation. CAPTURE: a delayed capture. LAPSE: an authorisation ends.
  -- EXPIRE: the customer did not come back in time. PLAN: a charge of a payment plan, or its end. RETURN: look whether a captured debit was sent back.
  ADD CONSTRAINT timer_kind_check CHECK (kind IN ('INQUIRY', 'CAPTURE', 'LAPSE', 'EXPIRE', 'PLAN', 'RETURN'));
