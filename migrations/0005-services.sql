-- What the services need: bank accounts in the vault, order references that can be searched, card ranges, exchange
-- rates and quotes.

-- Bank accounts, kept like cards. account_id is a keyed fingerprint of the IBAN: the same account of one merchant is one
-- row. Destroying one empties `sealed`; the masked digits stay with the payments that show them.
CREATE TABLE vault_account (
  merchant_id    text        NOT NULL,
  account_id     uuid        NOT NULL,
  pseudo_number  text        NOT NULL CHECK (pseudo_number ~ '^ZZ00[A-Z]{14}[0-9A-Z]{4}$'),
  key_version    integer     NOT NULL,
  sealed         bytea       CHECK (octet_length(sealed) <= 128),
  destroyed_at   timestamptz,
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id, account_id),
  CHECK ((sealed IS NULL) = (destroyed_at IS NOT NULL))
);
CREATE UNIQUE INDEX vault_account_by_pseudo_number ON vault_account (merchant_id, pseudo_number);

ALTER TABLE payment
  -- The account that paid or was paid: the number lies in the vault under account_id, here is what may be shown.
  ADD COLUMN account_id uuid,
  ADD COLUMN account json,
  -- Copies of two members of details.order. As columns they cost an index entry only where a shop sends them, and no
  -- payment has to be parsed for it.
  ADD COLUMN order_reference text CHECK (char_length(order_reference) <= 255),
  ADD COLUMN invoice_id text CHECK (char_length(invoice_id) <= 255);
UPDATE payment SET order_reference = details->'order'->>'merchantReference', invoice_id = details->'order'->>'invoiceId'
  WHERE details->'order' IS NOT NULL;
-- None of these columns changes when a payment is settled, so settling still rewrites no index.
CREATE INDEX payment_by_order_reference ON payment (merchant_id, order_reference, created_at)
  WHERE order_reference IS NOT NULL;
CREATE INDEX payment_by_invoice_id ON payment (merchant_id, invoice_id, created_at) WHERE invoice_id IS NOT NULL;

-- Card ranges as imported. They are facts about cards and belong to no merchant: one set per environment, replaced as a
-- whole. A range is written with ten digits, the length of the longest question; the narrowest one that holds all of the
-- question is the answer.
CREATE TABLE bin_range (
  span          int8range NOT NULL CHECK (lower(span) >= 0 AND upper(span) <= 10000000000 AND NOT isempty(span)),
  brand         text      NOT NULL CHECK (brand ~ '^[a-z0-9_ -]{1,32}$'),
  co_brands     text[]    NOT NULL CHECK (cardinality(co_brands) <= 8),
  product       text      CHECK (char_length(product) <= 64),
  source        text      CHECK (source IN ('CREDIT', 'DEBIT', 'PREPAID', 'CHARGE')),
  issuer        text      CHECK (char_length(issuer) <= 128),
  country       text      CHECK (country ~ '^[A-Z]{3}$'),
  currency      text      CHECK (currency ~ '^[A-Z]{3}$'),
  dcc_eligible  boolean   NOT NULL,
  PRIMARY KEY (span)
);
CREATE INDEX bin_range_by_span ON bin_range USING gist (span);

-- Exchange rates as imported: units of the currency for one euro, exactly as published. Like card ranges they belong to
-- no merchant and are replaced as a whole.
CREATE TABLE exchange_rate (
  currency   text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  per_euro   text NOT NULL CHECK (per_euro ~ '^[0-9]{1,12}([.][0-9]{1,12})?$'),
  source     text NOT NULL CHECK (char_length(source) BETWEEN 1 AND 32),
  published  date NOT NULL,
  PRIMARY KEY (currency)
);

-- Offers to pay in the cardholder's currency. One payment at most may use a quote; it is written in that payment's first
-- commit.
CREATE TABLE dcc_quote (
  merchant_id          text        NOT NULL,
  quote_id             uuid        NOT NULL,
  bin                  text        NOT NULL CHECK (bin ~ '^[0-9]{6,10}$'),
  merchant_value       bigint      NOT NULL CHECK (merchant_value BETWEEN 1 AND 999999999999),
  merchant_currency    text        NOT NULL CHECK (merchant_currency ~ '^[A-Z]{3}$'),
  cardholder_value     bigint      NOT NULL CHECK (cardholder_value BETWEEN 1 AND 999999999999),
  cardholder_currency  text        NOT NULL CHECK (cardholder_currency ~ '^[A-Z]{3}$'),
  exchange_rate        text        NOT NULL CHECK (exchange_rate ~ '^[0-9]{1,18}[.][0-9]{6}$'),
  markup_percentage    text        NOT NULL CHECK (markup_percentage ~ '^[0-9]{1,2}[.][0-9]{2}$'),
  rate_source          text        NOT NULL CHECK (char_length(rate_source) BETWEEN 1 AND 32),
  trans_id             text        CHECK (char_length(trans_id) <= 64),
  pay_id               uuid,
  -- Both in the merchant's time.
  quoted_at            timestamptz NOT NULL,
  expires_at           timestamptz NOT NULL CHECK (expires_at > quoted_at),
  PRIMARY KEY (merchant_id, quote_id)
);
-- For clearing away what nobody took.
CREATE INDEX dcc_quote_by_end ON dcc_quote (expires_at) WHERE pay_id IS NULL;
