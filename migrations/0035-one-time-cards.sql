-- Keys of one-time cards: what a customer types into card fields inside a shop's page is sealed into a token that the
-- shop holds, and only its key is here. The key goes when the token is used, or after fifteen minutes, and the token is
-- then a text that nobody can open. Unlogged, so that no key stays behind in the write-ahead log or in its archive; a crash only
-- makes customers type their card once more.
CREATE UNLOGGED TABLE one_time_key (
  merchant_id  text        NOT NULL,
  token_id     uuid        NOT NULL,
  key_version  integer     NOT NULL,
  -- Sealed with the merchant's data key of that version.
  sealed_key   bytea       NOT NULL CONSTRAINT one_time_key_length CHECK (octet_length(sealed_key) <= 128),
  -- By the merchant's clock, which a test may move.
  expires_at   timestamptz NOT NULL,
  -- By the real clock.
  made_at      timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT one_time_key_pkey PRIMARY KEY (merchant_id, token_id)
);
CREATE INDEX one_time_key_by_age ON one_time_key (made_at);
