-- The ground of the house. Every primary key begins with merchant_id: it is the tenancy wall, and it lets the same
-- schema be distributed by merchant when one machine is outgrown. There are no sequences in keys, no unique index
-- across merchants, and no foreign key to merchant (all payments of a busy merchant would lock that one row).
-- Amounts are whole numbers of the smallest currency unit; behind every money rule of the code stands a CHECK.

CREATE TABLE merchant (
  merchant_id          text        NOT NULL CHECK (merchant_id ~ '^[A-Za-z0-9_-]{1,30}$'),
  name                 text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 128),
  disabled             boolean     NOT NULL DEFAULT false,
  webhook_kind         text        NOT NULL DEFAULT 'ENHANCED' CHECK (webhook_kind IN ('BASIC', 'ENHANCED')),
  webhook_url          text        CHECK (char_length(webhook_url) <= 2048),
  requests_per_second  integer     NOT NULL DEFAULT 1000 CHECK (requests_per_second BETWEEN 1 AND 1000000),
  -- How far the merchant's test clock runs ahead of real time. It only ever moves forward.
  clock_offset_ms      bigint      NOT NULL DEFAULT 0 CHECK (clock_offset_ms >= 0),
  created_at           timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id)
);

-- Several live keys per merchant, so that a rotation has an overlap. The key itself is shown once and never stored.
CREATE TABLE api_key (
  merchant_id  text        NOT NULL,
  key_id       uuid        NOT NULL,
  key_hash     text        NOT NULL CHECK (key_hash ~ '^[0-9a-f]{64}$'),
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz,
  PRIMARY KEY (merchant_id, key_id)
);
CREATE INDEX api_key_by_hash ON api_key (key_hash);

-- Signing secrets of webhooks, sealed by the vault's master key; two are valid while one rotates.
CREATE TABLE webhook_secret (
  merchant_id  text        NOT NULL,
  secret_id    uuid        NOT NULL,
  sealed       bytea       NOT NULL CHECK (octet_length(sealed) <= 512),
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz,
  PRIMARY KEY (merchant_id, secret_id)
);

-- Data keys of the vault, wrapped by the master key that lies outside the database. Rotation re-wraps these few rows.
CREATE TABLE vault_key (
  merchant_id    text        NOT NULL,
  key_version    integer     NOT NULL CHECK (key_version > 0),
  wrapped        bytea       NOT NULL CHECK (octet_length(wrapped) <= 256),
  master_key_id  text        NOT NULL CHECK (char_length(master_key_id) <= 64),
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id, key_version)
);

-- Cards. card_id is a keyed fingerprint of the number: the same card of one merchant is one row.
-- Destroying a card empties `sealed`; the masked digits stay for the payments that show them.
CREATE TABLE vault_card (
  merchant_id    text        NOT NULL,
  card_id        uuid        NOT NULL,
  pseudo_number  text        NOT NULL CHECK (pseudo_number ~ '^0[0-9]{15}$'),
  key_version    integer     NOT NULL,
  sealed         bytea       CHECK (octet_length(sealed) <= 128),
  expiry_date    text        CHECK (expiry_date ~ '^[0-9]{6}$'),
  destroyed_at   timestamptz,
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id, card_id),
  CHECK ((sealed IS NULL) = (destroyed_at IS NOT NULL))
);
CREATE UNIQUE INDEX vault_card_by_pseudo_number ON vault_card (merchant_id, pseudo_number);

CREATE TABLE payment (
  merchant_id               text        NOT NULL,
  pay_id                    uuid        NOT NULL,
  trans_id                  text        NOT NULL CHECK (char_length(trans_id) BETWEEN 1 AND 64),
  ref_nr                    text        CHECK (char_length(ref_nr) <= 40),
  method                    text        NOT NULL CHECK (char_length(method) <= 40),
  integration_type          text        NOT NULL CHECK (integration_type IN ('HOSTED', 'DIRECT')),
  status                    text        NOT NULL CHECK (status IN ('AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED',
                                                                   'CAPTURE_REQUEST', 'OK', 'FAILED', 'REVERSED')),
  -- Whether the payment holds its transId. Kept apart from status because it is indexed: a column that changes with
  -- every payment must not be, or every settlement would rewrite all indexes of the row.
  live                      boolean     NOT NULL,
  currency                  text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  amount                    bigint      NOT NULL CHECK (amount BETWEEN 0 AND 999999999999),
  authorized                bigint      NOT NULL CHECK (authorized >= 0),
  capturing                 bigint      NOT NULL CHECK (capturing >= 0),
  captured                  bigint      NOT NULL CHECK (captured >= 0),
  reversing                 bigint      NOT NULL CHECK (reversing >= 0),
  reversed                  bigint      NOT NULL CHECK (reversed >= 0),
  refunding                 bigint      NOT NULL CHECK (refunding >= 0),
  refunded                  bigint      NOT NULL CHECK (refunded >= 0),
  -- 100, or what the method allows above the authorised amount.
  capture_percent           smallint    NOT NULL CHECK (capture_percent BETWEEN 100 AND 200),
  capture_method            text        NOT NULL CHECK (capture_method IN ('AUTOMATIC', 'MANUAL', 'DELAYED')),
  delayed_hours             smallint    CHECK (delayed_hours BETWEEN 1 AND 696),
  closed_for_capture        boolean     NOT NULL,
  authorization_expires_at  timestamptz,
  -- Masked card data; the number lies in the vault under card_id.
  card_id                   uuid,
  instrument                json,
  -- json, not jsonb: the merchant's own objects come back as they were sent, key order included.
  details                   json        NOT NULL,
  event_sequence            integer     NOT NULL CHECK (event_sequence >= 0),
  -- Both in the merchant's time, which runs ahead of real time when the test clock was moved.
  created_at                timestamptz NOT NULL,
  updated_at                timestamptz NOT NULL,
  version                   integer     NOT NULL CHECK (version > 0),
  PRIMARY KEY (merchant_id, pay_id),
  CONSTRAINT payment_captures_within_ceiling
    CHECK ((capturing + captured + reversing + reversed) * 100 <= authorized * capture_percent),
  CONSTRAINT payment_refunds_within_captures CHECK (refunding + refunded <= captured),
  CONSTRAINT payment_dead_holds_nothing
    CHECK (live = (status NOT IN ('FAILED', 'REVERSED'))),
  CONSTRAINT payment_failed_moved_nothing
    CHECK (status <> 'FAILED' OR (authorized = 0 AND captured = 0 AND capturing = 0)),
  CONSTRAINT payment_delay_is_given CHECK ((capture_method = 'DELAYED') = (delayed_hours IS NOT NULL))
) WITH (fillfactor = 75);
-- Each payment stands in exactly one of these: one live payment per transId, and the dead ones for look-up.
CREATE UNIQUE INDEX payment_live_by_trans_id ON payment (merchant_id, trans_id) WHERE live;
CREATE INDEX payment_dead_by_trans_id ON payment (merchant_id, trans_id) WHERE NOT live;

-- One row per operation, written SENT before the provider is called. Its x_id is the reference the provider gets.
CREATE TABLE operation (
  merchant_id    text        NOT NULL,
  pay_id         uuid        NOT NULL,
  sequence       smallint    NOT NULL CHECK (sequence > 0),
  x_id           uuid        NOT NULL,
  type           text        NOT NULL CHECK (type IN ('AUTHORIZATION', 'CONFIRM', 'INCREMENTAL', 'CAPTURE', 'REVERSAL',
                                                      'REFUND', 'CREDIT')),
  state          text        NOT NULL CHECK (state IN ('SENT', 'AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED',
                                                       'CAPTURE_REQUEST', 'OK', 'FAILED')),
  amount         bigint      NOT NULL CHECK (amount BETWEEN 0 AND 999999999999),
  trans_id       text        NOT NULL CHECK (char_length(trans_id) BETWEEN 1 AND 64),
  ref_nr         text        CHECK (char_length(ref_nr) <= 40),
  response_code  text        NOT NULL CHECK (response_code ~ '^[0-9]{8}$'),
  prepared       json        NOT NULL,
  provider       json,
  details        json        NOT NULL,
  -- Which idempotency key waits for this operation's answer.
  key            json,
  created_at     timestamptz NOT NULL,
  updated_at     timestamptz NOT NULL,
  -- Real time, for finding what a dead process left behind.
  sent_at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id, pay_id, sequence),
  FOREIGN KEY (merchant_id, pay_id) REFERENCES payment (merchant_id, pay_id)
) WITH (fillfactor = 85);
-- A block-range index costs next to nothing per row; rows arrive in the order of time.
CREATE INDEX operation_by_sent_at ON operation USING brin (sent_at) WITH (pages_per_range = 32);

-- One answer per key. Written with the operation's first record, so that a crash leaves the key joined to it.
CREATE TABLE idempotency_key (
  merchant_id    text        NOT NULL,
  verb           text        NOT NULL CHECK (verb IN ('POST', 'PATCH')),
  path           text        NOT NULL CHECK (char_length(path) <= 256),
  key            text        NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
  fingerprint    text        NOT NULL CHECK (fingerprint ~ '^[0-9a-f]{64}$'),
  pay_id         uuid,
  x_id           uuid,
  answer_status  smallint    CHECK (answer_status BETWEEN 200 AND 599),
  answer_body    text,
  created_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (merchant_id, verb, path, key),
  CHECK ((answer_status IS NULL) = (answer_body IS NULL))
) WITH (fillfactor = 75);
CREATE INDEX idempotency_key_by_age ON idempotency_key USING brin (created_at) WITH (pages_per_range = 32);

-- What the merchant is to be told, committed with the state that justifies it. Delivery reads from here.
CREATE TABLE event (
  merchant_id  text        NOT NULL,
  pay_id       uuid        NOT NULL,
  sequence     integer     NOT NULL CHECK (sequence > 0),
  event_id     uuid        NOT NULL,
  x_id         uuid        NOT NULL,
  body         json        NOT NULL,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (merchant_id, pay_id, sequence),
  FOREIGN KEY (merchant_id, pay_id) REFERENCES payment (merchant_id, pay_id)
);

-- Work that is due at a time. run_at is real time (moving a test clock moves it); the lease keeps two workers apart.
CREATE TABLE timer (
  merchant_id   text        NOT NULL,
  pay_id        uuid        NOT NULL,
  x_id          uuid        NOT NULL,
  kind          text        NOT NULL CHECK (kind IN ('INQUIRY')),
  run_at        timestamptz NOT NULL,
  attempt       integer     NOT NULL CHECK (attempt >= 0),
  leased_until  timestamptz,
  PRIMARY KEY (merchant_id, pay_id, x_id, kind)
);
CREATE INDEX timer_by_run_at ON timer (run_at);

-- Facts about the installation itself, one row each: how far the search for unanswered operations has come, and the
-- check value that proves the configured master key is the one this database was sealed with.
CREATE TABLE installation (
  name   text NOT NULL CHECK (char_length(name) <= 64),
  value  text NOT NULL CHECK (char_length(value) <= 1024),
  PRIMARY KEY (name)
);
