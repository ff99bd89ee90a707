-- API keys with names, rights and an end; the audit trail; limits on declines and payouts; erasing personal data.
-- Only additions: the previous release goes on serving while and after this runs. Keys of today have no name and all
-- scopes; whatever the previous release inserts is such a key.

ALTER TABLE api_key ADD COLUMN name text CONSTRAINT api_key_name_is_short CHECK (char_length(name) BETWEEN 1 AND 128);
-- Nothing: all scopes.
ALTER TABLE api_key ADD COLUMN scopes text[] CONSTRAINT api_key_scopes_are_known
  CHECK (cardinality(scopes) BETWEEN 1 AND 5 AND scopes <@ ARRAY['read', 'payments', 'refunds', 'payouts', 'test']);
-- Networks in CIDR notation; nothing: from everywhere.
ALTER TABLE api_key ADD COLUMN allow_from text[] CONSTRAINT api_key_allow_from_is_bounded
  CHECK (cardinality(allow_from) BETWEEN 1 AND 100);
-- Whether key_hash covers merchant_id and key_id, so that a row copied to another merchant opens nothing there.
ALTER TABLE api_key ADD COLUMN bound boolean NOT NULL DEFAULT false;
ALTER TABLE api_key ADD COLUMN revoked_at timestamptz;
-- Written within a second or so of the use, not by the request itself. Real time.
ALTER TABLE api_key ADD COLUMN last_used_at timestamptz;
ALTER TABLE api_key ADD COLUMN last_used_from text CONSTRAINT api_key_last_used_from_is_short
  CHECK (char_length(last_used_from) <= 64);
-- A bare key is found by the id in its text; `key revoke` names no merchant.
CREATE INDEX api_key_by_id ON api_key (key_id);

-- Addresses a key was used from before: the first use from another one is an entry of the audit trail.
CREATE TABLE api_key_address (
  merchant_id  text        NOT NULL,
  key_id       uuid        NOT NULL,
  address      text        NOT NULL,
  first_at     timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT api_key_address_pkey PRIMARY KEY (merchant_id, key_id, address),
  CONSTRAINT api_key_address_is_short CHECK (char_length(address) <= 64)
);

-- What people and commands did to the installation. Each row's hash covers the row and the hash before it; the number
-- and hash of the newest row stand in a table of their own, so that rows cut off the end are missed too.
-- It belongs to the installation and not to a merchant, which is why its key does not begin with one.
CREATE TABLE audit (
  number     bigint      NOT NULL,
  at         timestamptz NOT NULL,
  actor      text        NOT NULL,
  came_from  text        NOT NULL,
  act        text        NOT NULL,
  object     text        NOT NULL,
  before     json,
  after      json,
  hash       text        NOT NULL,
  CONSTRAINT audit_pkey PRIMARY KEY (number),
  CONSTRAINT audit_number_counts_from_one CHECK (number > 0),
  CONSTRAINT audit_hash_is_sha256 CHECK (hash ~ '^[0-9a-f]{64}$')
);
CREATE INDEX audit_by_time ON audit (at);

CREATE TABLE audit_head (
  single  boolean NOT NULL DEFAULT true,
  number  bigint  NOT NULL,
  hash    text    NOT NULL,
  CONSTRAINT audit_head_pkey PRIMARY KEY (single),
  CONSTRAINT audit_head_is_one_row CHECK (single)
);
INSERT INTO audit_head (number, hash) VALUES (0, repeat('0', 64));

-- As the command line takes them: `10/PT1H`, `100000EUR/P1D`. Nothing: the environment's default; `none`: no limit.
ALTER TABLE merchant ADD COLUMN declines_per_card text CONSTRAINT merchant_declines_per_card_is_short
  CHECK (char_length(declines_per_card) <= 64);
ALTER TABLE merchant ADD COLUMN declines_per_address text CONSTRAINT merchant_declines_per_address_is_short
  CHECK (char_length(declines_per_address) <= 64);
ALTER TABLE merchant ADD COLUMN payout_limit text CONSTRAINT merchant_payout_limit_is_short
  CHECK (char_length(payout_limit) <= 256);
-- How long personal data of payments is kept, as an ISO 8601 duration; nothing: for ever.
ALTER TABLE merchant ADD COLUMN personal_data_for text CONSTRAINT merchant_personal_data_for_is_short
  CHECK (char_length(personal_data_for) <= 32);

-- The last payment whose personal data the retention has blanked. Ids of payments are in the order of time.
ALTER TABLE merchant ADD COLUMN erased_up_to uuid;

-- The newest declines of a card (its keyed fingerprint) or of an address. Processes read only rows that changed.
CREATE TABLE velocity (
  merchant_id    text          NOT NULL,
  kind           text          NOT NULL,
  subject        text          NOT NULL,
  -- In the merchant's time, the oldest first; no more of them than the limit counts.
  declines       timestamptz[] NOT NULL,
  -- Until when nobody is asked, in the merchant's time.
  blocked_until  timestamptz,
  changed_at     timestamptz   NOT NULL DEFAULT now(),
  CONSTRAINT velocity_pkey PRIMARY KEY (merchant_id, kind, subject),
  CONSTRAINT velocity_kind_is_known CHECK (kind IN ('CARD', 'ADDRESS')),
  CONSTRAINT velocity_subject_is_short CHECK (char_length(subject) <= 64),
  CONSTRAINT velocity_declines_are_bounded CHECK (cardinality(declines) <= 1000)
);
CREATE INDEX velocity_by_change ON velocity (changed_at);

-- Payouts that count towards a limit: written before the provider is asked, taken back when it says no.
CREATE TABLE payout (
  merchant_id  text        NOT NULL,
  payout_id    uuid        NOT NULL,
  currency     text        NOT NULL,
  amount       bigint      NOT NULL,
  -- In the merchant's time.
  paid_at      timestamptz NOT NULL,
  CONSTRAINT payout_pkey PRIMARY KEY (merchant_id, payout_id),
  CONSTRAINT payout_amount_is_positive CHECK (amount > 0)
);
CREATE INDEX payout_by_time ON payout (merchant_id, currency, paid_at);
