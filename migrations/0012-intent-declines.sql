-- How often an intent may be declined.

-- Declines of all payments made from the intent before its last one; those of the last are its own operations. Written
-- with the claim, which names the payment that was last until then and has failed for good, so that none is counted twice.
-- 9: after ten declines nothing claims the intent any more.
ALTER TABLE payment_intent ADD COLUMN declines smallint NOT NULL DEFAULT 0 CHECK (declines BETWEEN 0 AND 9);
