-- Which provider account processes a payment, chosen once. NULL: nobody was asked yet, or the simulator of a merchant
-- that has no accounts. An account may be removed once its payments are over, so there is no foreign key.
ALTER TABLE payment ADD COLUMN provider_account text
  CONSTRAINT payment_provider_account_length CHECK (length(provider_account) <= 64);

ALTER TABLE payment ADD COLUMN connector text
  CONSTRAINT payment_connector_length CHECK (length(connector) <= 64);

-- An account and its connector are known together or not at all.
ALTER TABLE payment ADD CONSTRAINT payment_provider_whole
  CHECK ((provider_account IS NULL) = (connector IS NULL)) NOT VALID;

-- Counting what is still open with an account, and finding a payment by its account, stay cheap: simulator payments are
-- not in this index.
CREATE INDEX payment_by_provider_account ON payment (merchant_id, provider_account)
  WHERE provider_account IS NOT NULL;
