-- What the customer paid, or got back, where a line is settled in another currency and the provider says it; with the sign of
-- gross. NOT VALID: lines that were imported earlier have none, and need not be read again.

ALTER TABLE settlement_line ADD COLUMN paid bigint;
ALTER TABLE settlement_line ADD COLUMN paid_currency text;
ALTER TABLE settlement_line ADD CONSTRAINT settlement_line_paid_currency_form
  CHECK (paid_currency ~ '^[A-Z]{3}$') NOT VALID;
ALTER TABLE settlement_line ADD CONSTRAINT settlement_line_paid_whole
  CHECK ((paid IS NULL) = (paid_currency IS NULL)) NOT VALID;
