-- Bank accounts as stored payment methods, beside cards. A stored method leads to a card or to an account, never to both.

ALTER TABLE stored_method
  DROP CONSTRAINT stored_method_pkey,
  ALTER COLUMN card_id DROP NOT NULL,
  ALTER COLUMN brand DROP NOT NULL,
  DROP CONSTRAINT stored_method_last4_digits_check,
  -- The account in the vault: its keyed fingerprint. A column of its own, because a purge asks the schema who names one.
  ADD COLUMN account_id uuid,
  ADD COLUMN account_holder_name text CHECK (char_length(account_holder_name) <= 64),
  -- Whichever it is: two fingerprints never meet, because those of accounts are made with a word in front.
  ADD COLUMN held_id uuid GENERATED ALWAYS AS (coalesce(card_id, account_id)) STORED,
  -- One card or account of a customer is one row.
  ADD PRIMARY KEY (merchant_id, customer_id, held_id),
  ADD CONSTRAINT stored_method_holds_one CHECK (num_nonnulls(card_id, account_id) = 1),
  ADD CONSTRAINT stored_method_card_data CHECK (CASE WHEN account_id IS NULL
    THEN brand IS NOT NULL AND account_holder_name IS NULL
    ELSE num_nonnulls(brand, expiry_date, card_holder_name) = 0 END),
  -- The end of an IBAN may have letters.
  ADD CONSTRAINT stored_method_last4_digits_check
    CHECK (last4_digits ~ CASE WHEN account_id IS NULL THEN '^[0-9]{4}$' ELSE '^[0-9A-Z]{4}$' END);
-- Who else keeps an account, as stored_method_keepers for cards.
CREATE INDEX stored_method_account_keepers ON stored_method ((account_id::text), merchant_id) WHERE account_id IS NOT NULL;

ALTER TABLE vault_account
  -- As of cards: nobody keeps the account any more, but a payment that waits still needs the number.
  ADD COLUMN doomed_at timestamptz,
  ADD CONSTRAINT vault_account_doomed_or_destroyed CHECK (doomed_at IS NULL OR destroyed_at IS NULL);
CREATE INDEX vault_account_doomed ON vault_account (merchant_id) WHERE doomed_at IS NOT NULL;
