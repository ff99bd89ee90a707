-- How providers name what they tell us about: our own reference or their id, whichever the notice carries. One row per
-- name of an operation that went to a provider account; payments of the simulator without an account have none.
CREATE TABLE provider_reference (
  merchant_id       text NOT NULL,
  provider_account  text NOT NULL CONSTRAINT provider_reference_account_length CHECK (char_length(provider_account) <= 64),
  reference         text NOT NULL CONSTRAINT provider_reference_length CHECK (char_length(reference) BETWEEN 1 AND 255),
  pay_id            uuid NOT NULL,
  x_id              uuid NOT NULL,
  CONSTRAINT provider_reference_key PRIMARY KEY (merchant_id, provider_account, reference),
  CONSTRAINT provider_reference_of_payment FOREIGN KEY (merchant_id, pay_id) REFERENCES payment (merchant_id, pay_id)
);

-- What becomes of money that arrives after its payment has ended: given back unless the merchant keeps it.
ALTER TABLE merchant ADD COLUMN paid_late text
  CONSTRAINT merchant_paid_late_known CHECK (paid_late IN ('keep', 'return'));
