-- Delivering events: where each one goes, how far it has come, and every attempt that was made.

ALTER TABLE event
  -- The address that the payment itself named. Without one the merchant's own is asked for when the event is sent.
  ADD COLUMN url text CHECK (char_length(url) <= 2048),
  -- Scheme, host and port of it, or nothing for the merchant's own address: events of one receiver share a lane, and a
  -- receiver that hangs holds up its own lane only. 255: longer than any host name.
  ADD COLUMN receiver text NOT NULL
    GENERATED ALWAYS AS (coalesce(left(lower(substring(url FROM '^[A-Za-z]+://[^/?#]*')), 255), '')) STORED,
  -- PENDING: it will be sent by itself. DELIVERED: a receiver took it. FAILED: only a replay sends it again.
  ADD COLUMN status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DELIVERED', 'FAILED')),
  -- Real time of the next attempt (moving a test clock moves it); the lease keeps two workers apart.
  ADD COLUMN due_at timestamptz,
  ADD COLUMN leased_until timestamptz,
  -- All attempts ever made; those of the present round, which a replay starts anew; and the number of that round.
  ADD COLUMN attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  ADD COLUMN tries smallint NOT NULL DEFAULT 0 CHECK (tries >= 0),
  ADD COLUMN round integer NOT NULL DEFAULT 0 CHECK (round >= 0),
  -- Where the last attempt went.
  ADD COLUMN sent_to text CHECK (char_length(sent_to) <= 2048),
  ADD CHECK (tries <= attempts);

-- Stored before anything was delivered: they are sent now.
UPDATE event e SET due_at = now(), url = p.details #>> '{urls,webhook}'
  FROM payment p WHERE p.merchant_id = e.merchant_id AND p.pay_id = e.pay_id;
ALTER TABLE event ADD CONSTRAINT event_pending_is_due CHECK ((status = 'PENDING') = (due_at IS NOT NULL));

-- An event is written by the very statement that updates its payment, and only if that update took place: the check could
-- find nothing, and it locked the payment's row once more for every event. The doctor looks for events without a payment.
ALTER TABLE event DROP CONSTRAINT event_merchant_id_pay_id_fkey;

-- Room for the lease on the same page: taking it then touches no index.
ALTER TABLE event SET (fillfactor = 80);
CREATE UNIQUE INDEX event_by_id ON event (merchant_id, event_id);
-- Only what waits stands in it: a few rows, whatever has been delivered before.
CREATE INDEX event_by_lane ON event (merchant_id, receiver, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE event_attempt (
  merchant_id  text        NOT NULL,
  pay_id       uuid        NOT NULL,
  sequence     integer     NOT NULL,
  number       integer     NOT NULL CHECK (number > 0),
  -- In the merchant's time.
  at           timestamptz NOT NULL,
  -- Nothing when no answer came.
  status       smallint    CHECK (status BETWEEN 100 AND 999),
  duration_ms  integer     NOT NULL CHECK (duration_ms >= 0),
  -- The first bytes of the answer, or why there is none.
  answer       text        NOT NULL CHECK (char_length(answer) <= 1024),
  PRIMARY KEY (merchant_id, pay_id, sequence, number),
  CONSTRAINT event_attempt_of_event FOREIGN KEY (merchant_id, pay_id, sequence)
    REFERENCES event (merchant_id, pay_id, sequence) ON DELETE CASCADE
);
