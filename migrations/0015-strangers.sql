-- Confirmations of an intent that were refused before any provider was asked, because they named a stored card or account
-- of somebody else. They count like declines; apart from them, because a claim writes the number of declines it has read.
ALTER TABLE payment_intent ADD COLUMN refused_tries smallint NOT NULL DEFAULT 0
  CONSTRAINT payment_intent_refused_tries_bounded CHECK (refused_tries BETWEEN 0 AND 10);
