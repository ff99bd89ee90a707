-- Lines that match nothing yet, in the order of their key: they are matched page by page, because a provider account that other
-- systems use too has any number of them. Lines that are about no operation are left out.
CREATE INDEX settlement_line_unmatched_by_key
  ON settlement_line (merchant_id, provider_account_id, settlement_id, type, provider_reference)
  WHERE type IN ('CAPTURE', 'REFUND', 'CHARGEBACK') AND (pay_id IS NULL OR (x_id IS NULL AND type IN ('CAPTURE', 'REFUND')));
