-- A currency without a limit allows no payouts, so a merchant needs one for each currency: 256 characters left room for fifteen.
-- All currencies with the longest amounts and durations are 8,000.

ALTER TABLE merchant DROP CONSTRAINT merchant_payout_limit_is_short;
ALTER TABLE merchant ADD CONSTRAINT merchant_payout_limit_is_short CHECK (char_length(payout_limit) <= 16384);
