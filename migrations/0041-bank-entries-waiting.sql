-- Entries that wait are read in pages, in the order of their ids. The index had no ids: on a table without statistics each
-- page sorted everything that waited.
CREATE INDEX bank_entry_waiting ON bank_entry (merchant_id, provider_account_id, entry_id) WHERE state = 'NEW';
DROP INDEX bank_entry_to_apply;
