-- The indexes that lists of payments are read by now have a predicate that is true of every payment and that only lists state
-- (inLists in src/storage/planner.ts). Without it they could serve a look-up by pay_id too, and on empty tables, where all
-- indexes cost the same, PostgreSQL chose the newest of them: it then read all payments of the merchant for each one looked up.
CREATE INDEX payment_list_by_age ON payment (merchant_id, created_at, pay_id) WHERE amount >= 0;
CREATE INDEX payment_list_by_currency ON payment (merchant_id, currency, method, created_at, pay_id) WHERE amount >= 0;
CREATE INDEX payment_list_by_amount ON payment (merchant_id, amount, created_at, pay_id) WHERE amount >= 0;
DROP INDEX payment_by_age;
DROP INDEX payment_by_currency;
DROP INDEX payment_by_amount;

-- A payment is written twice within milliseconds, so half of a page is kept for the second version. With a quarter, every
-- second one went to another page, and all indexes of the payment were written again.
ALTER TABLE payment SET (fillfactor = 50);
