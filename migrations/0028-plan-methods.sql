-- A plan may be moved to another stored method of its customer, also from a card to an account and back. Both are empty
-- for a plan that is charged as its initial payment was. The holder's name stays with the stored method alone.
ALTER TABLE payment_plan ADD COLUMN charged_method text;
ALTER TABLE payment_plan ADD COLUMN charged_account json;
