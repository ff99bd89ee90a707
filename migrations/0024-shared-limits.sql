-- Limits that hold for all processes together, and leases of deliveries that name their process.

-- What one process counted against a limit, told to the others. Rows live for a minute or two; losing them in a crash
-- only forgives, so they need no write-ahead log.
CREATE UNLOGGED TABLE limit_use (
  number   bigint      GENERATED ALWAYS AS IDENTITY,
  process  integer     NOT NULL,
  -- A hash: what strangers send is not stored.
  name     text        NOT NULL CONSTRAINT limit_use_name_length CHECK (char_length(name) <= 64),
  used     integer     NOT NULL CONSTRAINT limit_use_positive CHECK (used > 0),
  at       timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT limit_use_pkey PRIMARY KEY (number)
);
CREATE INDEX limit_use_by_time ON limit_use (at);

ALTER TABLE event ADD COLUMN leased_by integer;
ALTER TABLE event_delivery ADD COLUMN leased_by integer;
