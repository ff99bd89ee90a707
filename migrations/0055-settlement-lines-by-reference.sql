-- A line that is known by the provider's reference alone is looked up by it before it is stored, whatever settlement it counts to.
CREATE INDEX settlement_line_by_reference ON settlement_line (merchant_id, provider_account_id, provider_reference);
