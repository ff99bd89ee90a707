-- A surplus that was sent back to its payer and did not arrive: the bank returned or rejected the transfer. It stays on a list
-- until a person has dealt with it.

-- The bank's reason for the return; that of a rejection is in "rejected". NOT VALID: no row has one yet, so none need be read.
ALTER TABLE bank_item ADD COLUMN return_reason text;
ALTER TABLE bank_item ADD CONSTRAINT bank_item_return_reason_length CHECK (char_length(return_reason) <= 35) NOT VALID;
-- When an import has printed it. One that is recorded and not yet printed is printed by the next import of its account.
ALTER TABLE bank_item ADD COLUMN told_at timestamptz;
-- When a person has dealt with it: sent it again under another reference, or paid it in another way.
ALTER TABLE bank_item ADD COLUMN closed_at timestamptz;

CREATE INDEX bank_item_undelivered ON bank_item (merchant_id, provider_account_id, x_id)
  WHERE type = 'SURPLUS' AND (returned_by IS NOT NULL OR rejected IS NOT NULL) AND closed_at IS NULL;
