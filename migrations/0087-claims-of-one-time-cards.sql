-- The request that a one-time card is being used by, until its payment is stored: two processes that get one request under the same
-- Idempotency-Key may both use it, and the key decides which of them pays. A request that is refused gives it back.
ALTER TABLE one_time_key ADD COLUMN claim uuid;
