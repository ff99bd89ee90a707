-- The key by which an earlier release knew an entry. What was done for the entry then has that key: the receipts of payments, what
-- goes back to payers, items in files and settlement lines.

ALTER TABLE bank_entry ADD COLUMN former_key text;
