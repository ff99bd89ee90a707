-- Events that say what happened, several endpoints per merchant, and returned debits as operations of their own.

-- Money that a customer's bank took back. It is neither a refund nor a reversal: nobody here asked for it.
ALTER TABLE payment ADD COLUMN returned bigint NOT NULL DEFAULT 0
  CONSTRAINT payment_returned_range CHECK (returned BETWEEN 0 AND 1999999999998);
-- What went back by refund and by return together never passes what came.
ALTER TABLE payment ADD CONSTRAINT payment_returns_within_captures
  CHECK (kind = 'CREDIT' OR refunding + refunded + returned <= captured) NOT VALID;
ALTER TABLE payment VALIDATE CONSTRAINT payment_returns_within_captures;

ALTER TABLE operation ADD CONSTRAINT operation_type_known
  CHECK (type IN ('AUTHORIZATION', 'CONFIRM', 'INCREMENTAL', 'CAPTURE', 'REVERSAL', 'REFUND', 'CREDIT', 'RETURN')) NOT VALID;
ALTER TABLE operation VALIDATE CONSTRAINT operation_type_known;
ALTER TABLE operation DROP CONSTRAINT operation_type_check;

-- What the event is about, for endpoints that want some types only. NULL: written before events had types.
ALTER TABLE event ADD COLUMN type text
  CONSTRAINT event_type_length CHECK (char_length(type) <= 40);
-- Whether the address of the payment, or the merchant's own, is to hear of it. Results that a request was answered with
-- are for added endpoints only.
ALTER TABLE event ADD COLUMN owed boolean NOT NULL DEFAULT true;

-- Where a merchant's events go besides the one address of its settings.
CREATE TABLE webhook_endpoint (
  merchant_id  text        NOT NULL,
  endpoint_id  text        NOT NULL CONSTRAINT webhook_endpoint_id_form CHECK (endpoint_id ~ '^we_[0-9a-f]{32}$'),
  url          text        NOT NULL CONSTRAINT webhook_endpoint_url_length CHECK (char_length(url) BETWEEN 1 AND 2048),
  -- NULL: all of them.
  types        text[]      CONSTRAINT webhook_endpoint_types_count CHECK (cardinality(types) BETWEEN 1 AND 100),
  kind         text        NOT NULL CONSTRAINT webhook_endpoint_kind_known CHECK (kind IN ('BASIC', 'ENHANCED')),
  created_at   timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (merchant_id, endpoint_id)
);

-- Signing secrets of one endpoint, sealed like those of merchants; two are valid while one rotates.
CREATE TABLE webhook_endpoint_secret (
  merchant_id  text        NOT NULL,
  endpoint_id  text        NOT NULL,
  secret_id    uuid        NOT NULL,
  sealed       bytea       NOT NULL CONSTRAINT webhook_endpoint_secret_length CHECK (octet_length(sealed) <= 512),
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz,
  CONSTRAINT webhook_endpoint_secret_pkey PRIMARY KEY (merchant_id, endpoint_id, secret_id),
  CONSTRAINT webhook_endpoint_secret_has_endpoint FOREIGN KEY (merchant_id, endpoint_id)
    REFERENCES webhook_endpoint (merchant_id, endpoint_id) ON DELETE CASCADE
);

-- One event on its way to one added endpoint; the columns mean what they mean in the table event. The endpoint may be
-- gone: what was delivered to it stays known.
CREATE TABLE event_delivery (
  merchant_id   text        NOT NULL,
  pay_id        uuid        NOT NULL,
  sequence      integer     NOT NULL,
  endpoint_id   text        NOT NULL,
  url           text        NOT NULL CONSTRAINT event_delivery_url_length CHECK (char_length(url) <= 2048),
  status        text        NOT NULL DEFAULT 'PENDING'
                CONSTRAINT event_delivery_status_known CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  due_at        timestamptz,
  leased_until  timestamptz,
  attempts      integer     NOT NULL DEFAULT 0 CONSTRAINT event_delivery_attempts_range CHECK (attempts >= 0),
  tries         smallint    NOT NULL DEFAULT 0 CONSTRAINT event_delivery_tries_range CHECK (tries BETWEEN 0 AND attempts),
  round         integer     NOT NULL DEFAULT 0 CONSTRAINT event_delivery_round_range CHECK (round >= 0),
  CONSTRAINT event_delivery_pkey PRIMARY KEY (merchant_id, pay_id, sequence, endpoint_id),
  CONSTRAINT event_delivery_pending_is_due CHECK ((status = 'PENDING') = (due_at IS NOT NULL)),
  CONSTRAINT event_delivery_of_event FOREIGN KEY (merchant_id, pay_id, sequence)
    REFERENCES event (merchant_id, pay_id, sequence) ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX event_delivery_by_lane ON event_delivery (merchant_id, endpoint_id, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE event_delivery_attempt (
  merchant_id  text        NOT NULL,
  pay_id       uuid        NOT NULL,
  sequence     integer     NOT NULL,
  endpoint_id  text        NOT NULL,
  number       integer     NOT NULL CONSTRAINT event_delivery_attempt_number_range CHECK (number > 0),
  -- In the merchant's time.
  at           timestamptz NOT NULL,
  status       smallint    CONSTRAINT event_delivery_attempt_status_range CHECK (status BETWEEN 100 AND 999),
  duration_ms  integer     NOT NULL CONSTRAINT event_delivery_attempt_duration_range CHECK (duration_ms >= 0),
  answer       text        NOT NULL CONSTRAINT event_delivery_attempt_answer_length CHECK (char_length(answer) <= 1024),
  CONSTRAINT event_delivery_attempt_pkey PRIMARY KEY (merchant_id, pay_id, sequence, endpoint_id, number),
  CONSTRAINT event_delivery_attempt_of_delivery FOREIGN KEY (merchant_id, pay_id, sequence, endpoint_id)
    REFERENCES event_delivery (merchant_id, pay_id, sequence, endpoint_id) ON DELETE CASCADE
);
