-- Lines of charges that are no capture of ours, by the charge: one that failed after the provider had booked it has two, which come to
-- nothing.
CREATE INDEX settlement_line_unmatched_by_charge ON settlement_line (merchant_id, provider_account_id, transaction_id)
  WHERE type = 'CAPTURE' AND x_id IS NULL;
