-- The bank as a provider: batches of debits and transfers, the files they became, mandates, and what the bank's own
-- files say. Only additions, so that the previous release can serve while this runs.

-- BATCH: the operation waits for the next file to the bank; the row is the queue, and its time lies far ahead.
-- ANNOUNCE: tell the merchant when a debit will be collected. APPROVE: a debit that nobody has returned counts as paid.
ALTER TABLE timer DROP CONSTRAINT timer_kind_check;
ALTER TABLE timer ADD CONSTRAINT timer_kind_check CHECK (kind IN ('INQUIRY', 'CAPTURE', 'LAPSE', 'EXPIRE', 'PLAN', 'RETURN',
  'DISPUTE', 'BATCH', 'ANNOUNCE', 'APPROVE'));

-- A mandate as we have used it, under the account that collects with it. Upper and lower case are the same mandate.
CREATE TABLE bank_mandate (
  merchant_id    text        NOT NULL,
  provider_account_id     text        NOT NULL,
  mandate_key    text        NOT NULL CONSTRAINT bank_mandate_key_length CHECK (char_length(mandate_key) BETWEEN 1 AND 35),
  creditor_id    text        NOT NULL CONSTRAINT bank_mandate_creditor_length CHECK (char_length(creditor_id) <= 35),
  creditor_name  text        NOT NULL CONSTRAINT bank_mandate_name_length CHECK (char_length(creditor_name) <= 70),
  -- The account that was debited last: its id in the vault.
  held_id        uuid        NOT NULL,
  last_used_on   date        NOT NULL,
  -- Set by a return after which nothing may be collected any more, with the bank's reason.
  ended_on       date,
  end_reason     text        CONSTRAINT bank_mandate_reason_length CHECK (char_length(end_reason) <= 35),
  CONSTRAINT bank_mandate_pkey PRIMARY KEY (merchant_id, provider_account_id, mandate_key)
);

CREATE TABLE bank_batch (
  merchant_id  text        NOT NULL,
  provider_account_id   text        NOT NULL,
  batch_id     uuid        NOT NULL,
  -- The day on which the batch counts as made; made_at is in the merchant's time.
  made_on      date        NOT NULL,
  made_at      timestamptz NOT NULL,
  CONSTRAINT bank_batch_pkey PRIMARY KEY (merchant_id, batch_id)
);
CREATE INDEX bank_batch_by_account ON bank_batch (provider_account_id, made_at);

-- A file for the bank. Its bytes lie sealed in parts, so that it can be given out again for ever, byte for byte.
CREATE TABLE bank_file (
  merchant_id  text        NOT NULL,
  batch_id     uuid        NOT NULL,
  type         text        NOT NULL CONSTRAINT bank_file_type_known CHECK (type IN ('pain.008.001.08', 'pain.001.001.09')),
  message_id   text        NOT NULL CONSTRAINT bank_file_message_length CHECK (char_length(message_id) BETWEEN 1 AND 35),
  payments     integer     NOT NULL CONSTRAINT bank_file_payments_positive CHECK (payments > 0),
  sum          bigint      NOT NULL CONSTRAINT bank_file_sum_positive CHECK (sum > 0),
  sha256       text        NOT NULL CONSTRAINT bank_file_sha256_form CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  -- When the file lay complete in a folder for the first time. Until then the next batch gives it out too.
  given_at     timestamptz,
  CONSTRAINT bank_file_pkey PRIMARY KEY (merchant_id, batch_id, type)
);
CREATE INDEX bank_file_by_message ON bank_file (message_id);

CREATE TABLE bank_file_part (
  merchant_id  text        NOT NULL,
  part_id      uuid        NOT NULL,
  batch_id     uuid        NOT NULL,
  type         text        NOT NULL,
  position     integer     NOT NULL CONSTRAINT bank_file_part_position_range CHECK (position >= 0),
  key_version  integer     NOT NULL CONSTRAINT bank_file_part_key_version_positive CHECK (key_version > 0),
  sealed       bytea       NOT NULL,
  CONSTRAINT bank_file_part_pkey PRIMARY KEY (merchant_id, part_id),
  CONSTRAINT bank_file_part_of_file FOREIGN KEY (merchant_id, batch_id, type)
    REFERENCES bank_file (merchant_id, batch_id, type) DEFERRABLE INITIALLY DEFERRED
);
CREATE UNIQUE INDEX bank_file_part_in_order ON bank_file_part (merchant_id, batch_id, type, position);

-- One payment of a file. The key makes sure that no operation is ever written into two files.
CREATE TABLE bank_item (
  merchant_id    text     NOT NULL,
  x_id           uuid     NOT NULL,
  pay_id         uuid     NOT NULL,
  provider_account_id     text     NOT NULL,
  batch_id       uuid     NOT NULL,
  type           text     NOT NULL CONSTRAINT bank_item_type_known CHECK (type IN ('DEBIT', 'TRANSFER', 'SURPLUS')),
  -- The payment information that holds it.
  block_id       text     NOT NULL CONSTRAINT bank_item_block_length CHECK (char_length(block_id) BETWEEN 1 AND 35),
  amount         bigint   NOT NULL CONSTRAINT bank_item_amount_range CHECK (amount BETWEEN 1 AND 99999999999),
  due_on         date     NOT NULL,
  sequence_type  text     CONSTRAINT bank_item_sequence_known CHECK (sequence_type IN ('FRST', 'RCUR', 'FNAL', 'OOFF')),
  mandate_id     text     CONSTRAINT bank_item_mandate_length CHECK (char_length(mandate_id) BETWEEN 1 AND 35),
  -- What the bank must be told has changed about the mandate.
  amendment      json,
  -- Keys of the bank's entries that booked it, and that sent it back.
  booked_by      text     CONSTRAINT bank_item_booked_length CHECK (char_length(booked_by) <= 255),
  returned_by    text     CONSTRAINT bank_item_returned_length CHECK (char_length(returned_by) <= 255),
  -- The bank's reason when it rejected the payment before any money moved.
  rejected       text     CONSTRAINT bank_item_rejected_length CHECK (char_length(rejected) <= 35),
  CONSTRAINT bank_item_pkey PRIMARY KEY (merchant_id, x_id)
);
CREATE INDEX bank_item_by_block ON bank_item (merchant_id, batch_id, block_id, x_id);

-- More than was asked for has arrived: what is to be given back, and to whom (sealed).
CREATE TABLE bank_surplus (
  merchant_id  text     NOT NULL,
  x_id         uuid     NOT NULL,
  pay_id       uuid     NOT NULL,
  provider_account_id   text     NOT NULL,
  amount       bigint   NOT NULL CONSTRAINT bank_surplus_amount_range CHECK (amount BETWEEN 1 AND 99999999999),
  key_version  integer  NOT NULL CONSTRAINT bank_surplus_key_version_positive CHECK (key_version > 0),
  sealed       bytea    NOT NULL,
  batch_id     uuid,
  CONSTRAINT bank_surplus_pkey PRIMARY KEY (merchant_id, x_id)
);
CREATE INDEX bank_surplus_waiting ON bank_surplus (provider_account_id, x_id) WHERE batch_id IS NULL;

-- What the bank's files say, one row per transaction or rejection, known by the bank's reference: the same entry in
-- another file is the same row. Names, accounts and texts of customers lie sealed.
CREATE TABLE bank_entry (
  merchant_id  text        NOT NULL,
  entry_id     uuid        NOT NULL,
  provider_account_id   text        NOT NULL,
  entry_key    text        NOT NULL CONSTRAINT bank_entry_key_length CHECK (char_length(entry_key) BETWEEN 1 AND 255),
  state        text        NOT NULL CONSTRAINT bank_entry_state_known CHECK (state IN ('NEW', 'APPLIED', 'UNMATCHED')),
  -- What it turned out to be, once applied.
  result       text        CONSTRAINT bank_entry_result_known
                             CHECK (result IN ('BOOKED', 'REJECTED', 'RETURNED', 'RECEIVED', 'OTHER')),
  booked_on    date,
  -- Positive to the merchant, negative from them.
  amount       bigint      NOT NULL,
  currency     text        NOT NULL CONSTRAINT bank_entry_currency_form CHECK (currency ~ '^[A-Z]{3}$'),
  -- The part of the amount that the bank took for itself.
  fee          bigint      NOT NULL DEFAULT 0,
  x_id         uuid,
  -- The payment that money was sent for, from before anything is done about it.
  pay_id       uuid,
  key_version  integer     NOT NULL CONSTRAINT bank_entry_key_version_positive CHECK (key_version > 0),
  sealed       bytea       NOT NULL,
  CONSTRAINT bank_entry_pkey PRIMARY KEY (merchant_id, entry_id)
);
CREATE UNIQUE INDEX bank_entry_known ON bank_entry (merchant_id, provider_account_id, entry_key);
CREATE INDEX bank_entry_to_apply ON bank_entry (merchant_id, provider_account_id) WHERE state = 'NEW';

-- Files of the bank that were taken in, for people who ask.
CREATE TABLE bank_import (
  merchant_id  text        NOT NULL,
  provider_account_id   text        NOT NULL,
  sha256       text        NOT NULL CONSTRAINT bank_import_sha256_form CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  imported_at  timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT bank_import_pkey PRIMARY KEY (merchant_id, provider_account_id, sha256)
);
