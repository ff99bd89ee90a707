-- Real providers: accounts with sealed credentials, routing rules, the inbox of notices, disputes and settlement lines.
-- Only additions, so that the previous release can serve while this runs.

CREATE TABLE provider_account (
  merchant_id  text        NOT NULL,
  provider_account_id text        NOT NULL CONSTRAINT provider_account_id_form CHECK (provider_account_id ~ '^acc_[0-9a-f]{24}$'),
  connector    text        NOT NULL CONSTRAINT provider_account_connector_form CHECK (connector ~ '^[a-z][a-z0-9-]{0,39}$'),
  name         text        NOT NULL CONSTRAINT provider_account_name_length CHECK (char_length(name) BETWEEN 1 AND 128),
  settings     json        NOT NULL,
  enabled      boolean     NOT NULL DEFAULT true,
  -- Raised by every change, secrets included: a process that has opened an older one opens it again.
  version      integer     NOT NULL DEFAULT 1 CONSTRAINT provider_account_version_positive CHECK (version > 0),
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT provider_account_key PRIMARY KEY (merchant_id, provider_account_id)
);
-- A provider's notice names the account alone.
CREATE INDEX provider_account_by_id ON provider_account (provider_account_id);

-- Credentials, each sealed with a data key of its merchant. secret_id is what the sealed value is bound to.
CREATE TABLE provider_secret (
  merchant_id  text        NOT NULL,
  secret_id    uuid        NOT NULL,
  provider_account_id text        NOT NULL,
  name         text        NOT NULL CONSTRAINT provider_secret_name_length CHECK (char_length(name) BETWEEN 1 AND 64),
  key_version  integer     NOT NULL CONSTRAINT provider_secret_key_version_positive CHECK (key_version > 0),
  sealed       bytea       NOT NULL CONSTRAINT provider_secret_sealed_length CHECK (octet_length(sealed) <= 65536),
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT provider_secret_key PRIMARY KEY (merchant_id, secret_id),
  CONSTRAINT provider_secret_of_account FOREIGN KEY (merchant_id, provider_account_id)
    REFERENCES provider_account (merchant_id, provider_account_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX provider_secret_by_name ON provider_secret (merchant_id, provider_account_id, name);

-- Which account takes which payments. An empty column means "any".
CREATE TABLE route_rule (
  merchant_id  text        NOT NULL,
  rule_id      uuid        NOT NULL,
  provider_account_id text        NOT NULL,
  types        text[],
  brands       text[],
  currencies   text[],
  countries    text[],
  amount_from  bigint      CONSTRAINT route_rule_amount_from_range CHECK (amount_from BETWEEN 0 AND 999999999999),
  amount_to    bigint      CONSTRAINT route_rule_amount_to_range CHECK (amount_to BETWEEN 0 AND 999999999999),
  priority     integer     NOT NULL CONSTRAINT route_rule_priority_range CHECK (priority BETWEEN 0 AND 1000000),
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT route_rule_key PRIMARY KEY (merchant_id, rule_id),
  CONSTRAINT route_rule_amounts_in_order CHECK (amount_from <= amount_to),
  CONSTRAINT route_rule_of_account FOREIGN KEY (merchant_id, provider_account_id)
    REFERENCES provider_account (merchant_id, provider_account_id) ON DELETE CASCADE
);

-- What providers told us, verified before it was stored: the body as it came and what was read in it, sealed together.
-- sealed is emptied after 90 days; the items below stay as the proof of what was applied.
CREATE TABLE provider_notice (
  merchant_id  text        NOT NULL,
  notice_id    uuid        NOT NULL,
  provider_account_id text        NOT NULL,
  key_version  integer     NOT NULL CONSTRAINT provider_notice_key_version_positive CHECK (key_version > 0),
  sealed       bytea       CONSTRAINT provider_notice_sealed_length CHECK (octet_length(sealed) <= 8388608),
  received_at  timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT provider_notice_key PRIMARY KEY (merchant_id, notice_id)
);
CREATE INDEX provider_notice_by_age ON provider_notice (received_at) WHERE sealed IS NOT NULL;

-- One row per fact of a notice. The item's key is the provider's: the same fact delivered twice is one row.
CREATE TABLE notice_item (
  merchant_id   text        NOT NULL,
  provider_account_id    text        NOT NULL,
  item_key      text        NOT NULL CONSTRAINT notice_item_key_length CHECK (char_length(item_key) BETWEEN 1 AND 255),
  notice_id     uuid        NOT NULL,
  position      integer     NOT NULL CONSTRAINT notice_item_position_range CHECK (position >= 0),
  -- What kind of fact it is, and how it names its operation; for lists and for people.
  kind          text        NOT NULL CONSTRAINT notice_item_kind_length CHECK (char_length(kind) <= 64),
  reference     text        CONSTRAINT notice_item_reference_length CHECK (char_length(reference) <= 255),
  state         text        NOT NULL DEFAULT 'PENDING' CONSTRAINT notice_item_state_known
                              CHECK (state IN ('PENDING', 'UNMATCHED', 'APPLIED', 'REPEATED', 'IGNORED', 'EXPIRED')),
  attempt       integer     NOT NULL DEFAULT 0 CONSTRAINT notice_item_attempt_range CHECK (attempt >= 0),
  -- Real time. Set as long as the item is to be applied, now or again later.
  due_at        timestamptz,
  leased_until  timestamptz,
  detail        text        CONSTRAINT notice_item_detail_length CHECK (char_length(detail) <= 1000),
  received_at   timestamptz NOT NULL DEFAULT now(),
  finished_at   timestamptz,
  CONSTRAINT notice_item_pkey PRIMARY KEY (merchant_id, provider_account_id, item_key),
  CONSTRAINT notice_item_due_while_open CHECK ((due_at IS NOT NULL) = (state IN ('PENDING', 'UNMATCHED'))),
  CONSTRAINT notice_item_of_notice FOREIGN KEY (merchant_id, notice_id)
    REFERENCES provider_notice (merchant_id, notice_id)
);
CREATE INDEX notice_item_by_due_at ON notice_item (due_at) WHERE due_at IS NOT NULL;

-- Captured money that a cardholder has asked back through the bank.
CREATE TABLE dispute (
  merchant_id          text        NOT NULL,
  dispute_id           text        NOT NULL CONSTRAINT dispute_id_form CHECK (dispute_id ~ '^dsp_[0-9a-f]{32}$'),
  pay_id               uuid        NOT NULL,
  x_id                 uuid        NOT NULL,
  provider_dispute_id  text        NOT NULL CONSTRAINT dispute_provider_id_length
                                     CHECK (char_length(provider_dispute_id) BETWEEN 1 AND 255),
  amount               bigint      NOT NULL CONSTRAINT dispute_amount_range CHECK (amount BETWEEN 0 AND 999999999999),
  currency             text        NOT NULL CONSTRAINT dispute_currency_form CHECK (currency ~ '^[A-Z]{3}$'),
  stage                text        NOT NULL CONSTRAINT dispute_stage_known
                                     CHECK (stage IN ('INQUIRY', 'CHARGEBACK', 'PRE_ARBITRATION', 'ARBITRATION')),
  status               text        NOT NULL CONSTRAINT dispute_status_known
                                     CHECK (status IN ('OPEN', 'UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED', 'EXPIRED')),
  reason_code          text        NOT NULL CONSTRAINT dispute_reason_code_length CHECK (char_length(reason_code) <= 255),
  reason_group         text        NOT NULL CONSTRAINT dispute_reason_group_known
                                     CHECK (reason_group IN ('FRAUD', 'CONSUMER', 'PROCESSING', 'AUTHORIZATION', 'OTHER')),
  evidence_due_by      timestamptz,
  -- What the connector wants to have back when it is asked about the dispute.
  kept                 json        NOT NULL DEFAULT '{}',
  -- What happened to it, the first first: [{at, type, stage, status}].
  events               json        NOT NULL,
  created_at           timestamptz NOT NULL,
  updated_at           timestamptz NOT NULL,
  CONSTRAINT dispute_key PRIMARY KEY (merchant_id, dispute_id),
  CONSTRAINT dispute_of_payment FOREIGN KEY (merchant_id, pay_id) REFERENCES payment (merchant_id, pay_id)
);
-- Lists go by the day of opening, the newest first.
CREATE INDEX dispute_by_created_at ON dispute (merchant_id, created_at DESC, dispute_id DESC);
CREATE UNIQUE INDEX dispute_by_provider_id ON dispute (merchant_id, pay_id, provider_dispute_id);

-- What the merchant sent in its defence, sealed like cards. Text lies beside files under the type text/plain.
CREATE TABLE dispute_file (
  merchant_id  text        NOT NULL,
  file_id      uuid        NOT NULL,
  dispute_id   text        NOT NULL,
  name         text        NOT NULL CONSTRAINT dispute_file_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
  type         text        NOT NULL CONSTRAINT dispute_file_type_known
                             CHECK (type IN ('text/plain', 'application/pdf', 'image/png', 'image/jpeg')),
  key_version  integer     NOT NULL CONSTRAINT dispute_file_key_version_positive CHECK (key_version > 0),
  sealed       bytea       NOT NULL CONSTRAINT dispute_file_sealed_length CHECK (octet_length(sealed) <= 5300000),
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT dispute_file_key PRIMARY KEY (merchant_id, file_id),
  CONSTRAINT dispute_file_of_dispute FOREIGN KEY (merchant_id, dispute_id)
    REFERENCES dispute (merchant_id, dispute_id)
);

-- What of the captured money is disputed and not won back.
ALTER TABLE payment ADD COLUMN disputed bigint NOT NULL DEFAULT 0
  CONSTRAINT payment_disputed_range CHECK (disputed BETWEEN 0 AND 9999999999999);

-- What a provider says it has paid out, line by line. A line imported twice is one row.
CREATE TABLE settlement_line (
  merchant_id         text        NOT NULL,
  provider_account_id          text        NOT NULL,
  settlement_id       text        NOT NULL CONSTRAINT settlement_line_id_length
                                    CHECK (char_length(settlement_id) BETWEEN 1 AND 255),
  provider_reference  text        NOT NULL CONSTRAINT settlement_line_reference_length
                                    CHECK (char_length(provider_reference) BETWEEN 1 AND 255),
  type                text        NOT NULL CONSTRAINT settlement_line_type_known
                                    CHECK (type IN ('CAPTURE', 'REFUND', 'CHARGEBACK', 'FEE', 'RESERVE', 'PAYOUT',
                                                    'CORRECTION')),
  date                date        NOT NULL,
  gross               bigint      NOT NULL,
  fee                 bigint      NOT NULL,
  net                 bigint      NOT NULL,
  currency            text        NOT NULL CONSTRAINT settlement_line_currency_form CHECK (currency ~ '^[A-Z]{3}$'),
  -- As the provider names the operation: our reference, its own id, or neither.
  x_id                uuid,
  transaction_id      text        CONSTRAINT settlement_line_transaction_length CHECK (char_length(transaction_id) <= 255),
  -- The payment it belongs to, once known.
  pay_id              uuid,
  imported_at         timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT settlement_line_key PRIMARY KEY (merchant_id, provider_account_id, settlement_id, type, provider_reference)
);
CREATE INDEX settlement_line_by_date ON settlement_line (merchant_id, date DESC);
