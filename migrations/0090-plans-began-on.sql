-- The day of the initial payment, from which due days are counted. Plans of an earlier release are counted from created_at.
ALTER TABLE payment_plan ADD COLUMN began_on date;
