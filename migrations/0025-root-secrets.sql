-- A new root secret renews what the hashes of API keys are made with: every stored hash is hashed once more with the new
-- pepper, and the row says with which pepper the hashing of its key began. Only an addition: what the previous release
-- inserts begins with the first pepper, which is the only one until the first `keys rotate --root`.
ALTER TABLE api_key ADD COLUMN pepper smallint NOT NULL DEFAULT 1
  CONSTRAINT api_key_pepper_counts_from_one CHECK (pepper BETWEEN 1 AND 1000);
