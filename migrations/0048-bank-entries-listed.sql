-- What an import found to fit nothing is listed from this table when it ends, page by page: listed_by is that import.
ALTER TABLE bank_entry ADD COLUMN listed_by uuid;

-- Whether the entry is the sum of a whole batch of ours: only such an entry can fit later, after a rejection has changed
-- what the batch comes to. Null: it came with an earlier release, and nobody has looked.
ALTER TABLE bank_entry ADD COLUMN is_sum boolean;

CREATE INDEX bank_entry_listed ON bank_entry (merchant_id, provider_account_id, listed_by, entry_id)
  WHERE state = 'UNMATCHED';
CREATE INDEX bank_entry_sums ON bank_entry (merchant_id, provider_account_id)
  WHERE state = 'UNMATCHED' AND is_sum IS NOT FALSE;
DROP INDEX bank_entry_unmatched;
