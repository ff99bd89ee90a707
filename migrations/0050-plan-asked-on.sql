-- The day on which the merchant last asked for a charge at once: if that day was charged before, it is charged twice
-- on purpose.

ALTER TABLE payment_plan ADD COLUMN asked_on date;
