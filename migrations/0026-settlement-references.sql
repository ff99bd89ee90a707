-- Our reference as the provider repeats it in a settlement line, so that a line finds its operation also when the payment's
-- truth arrives after the import.
ALTER TABLE settlement_line ADD COLUMN reference text
  CONSTRAINT settlement_line_our_reference_length CHECK (char_length(reference) <= 255);

-- Lines about an operation that have not found it yet; few, and asked for again and again.
CREATE INDEX settlement_line_unmatched ON settlement_line (merchant_id, provider_account_id)
  WHERE pay_id IS NULL OR (x_id IS NULL AND type IN ('CAPTURE', 'REFUND'));
