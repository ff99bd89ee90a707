-- What had arrived for a payment that has ended is looked up by the payment, to give it back.
CREATE INDEX bank_entry_by_payment ON bank_entry (merchant_id, pay_id) WHERE pay_id IS NOT NULL;

-- Entries that fit nothing are looked at again when a rejection changes what a block comes to.
CREATE INDEX bank_entry_unmatched ON bank_entry (merchant_id, provider_account_id) WHERE state = 'UNMATCHED';
