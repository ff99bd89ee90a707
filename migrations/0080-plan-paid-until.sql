-- The last due day that the merchant's own charges have paid, also in advance: after a pause, or with another end of the plan, such
-- days are not due again.

ALTER TABLE payment_plan ADD COLUMN paid_until date;
