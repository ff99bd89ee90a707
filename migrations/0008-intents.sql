-- Payment intents: what a shop's server prepares and a mobile app confirms.

CREATE TABLE payment_intent (
  merchant_id  text        NOT NULL,
  -- 128 random bits: whoever holds the id and an access token for it may confirm it, so it must not be guessed.
  intent_id    text        NOT NULL CHECK (intent_id ~ '^pi_[0-9a-f]{32}$'),
  -- The request as it came; json, not jsonb, so that the merchant's own objects come back as they were sent.
  request      json        NOT NULL,
  -- The last payment made from it. That payment's status says whether the intent is taken: while it is anything but
  -- FAILED, yes. So nothing has to be released after a decline, and a crash cannot separate the two.
  pay_id       uuid,
  -- Both in the merchant's time.
  expires_at   timestamptz NOT NULL,
  created_at   timestamptz NOT NULL,
  PRIMARY KEY (merchant_id, intent_id),
  FOREIGN KEY (merchant_id, pay_id) REFERENCES payment (merchant_id, pay_id),
  CHECK (expires_at > created_at)
);
