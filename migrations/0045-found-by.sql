-- What payments are found by, in columns of their own. The indexes of 0017 read it out of details and instrument, and each of
-- them read the whole JSON anew for every payment: a third of what PostgreSQL did to write one (measured). Where `searchable`
-- is not set, a process of the former release wrote the row, or its personal data was erased: there the JSON says it.
ALTER TABLE payment ADD COLUMN searchable boolean;
ALTER TABLE payment ADD COLUMN email text;
ALTER TABLE payment ADD COLUMN merchant_customer text;
ALTER TABLE payment ADD COLUMN charged_customer text;
ALTER TABLE payment ADD COLUMN link_id text;
ALTER TABLE payment ADD COLUMN last_digits text;

-- The expressions are those of src/storage/payments/found-by.ts.
CREATE INDEX payment_found_by_email ON payment (merchant_id,
  lower(CASE WHEN searchable THEN email ELSE details #>> '{customerInfo,email}' END), created_at, pay_id)
  WHERE (CASE WHEN searchable THEN email ELSE details #>> '{customerInfo,email}' END) IS NOT NULL;
CREATE INDEX payment_found_by_merchant_customer ON payment (merchant_id,
  (CASE WHEN searchable THEN merchant_customer ELSE details #>> '{customerInfo,merchantCustomerId}' END), created_at, pay_id)
  WHERE (CASE WHEN searchable THEN merchant_customer ELSE details #>> '{customerInfo,merchantCustomerId}' END) IS NOT NULL;
CREATE INDEX payment_found_by_charged_customer ON payment (merchant_id,
  (CASE WHEN searchable THEN charged_customer ELSE details ->> 'chargedCustomerId' END), created_at, pay_id)
  WHERE (CASE WHEN searchable THEN charged_customer ELSE details ->> 'chargedCustomerId' END) IS NOT NULL;
CREATE INDEX payment_found_by_link ON payment (merchant_id,
  (CASE WHEN searchable THEN link_id ELSE details ->> 'linkId' END), created_at, pay_id)
  WHERE (CASE WHEN searchable THEN link_id ELSE details ->> 'linkId' END) IS NOT NULL;
CREATE INDEX payment_found_by_last_digits ON payment (merchant_id,
  (CASE WHEN searchable THEN last_digits ELSE coalesce(instrument ->> 'last4Digits', account ->> 'last4Digits') END),
  created_at, pay_id)
  WHERE (CASE WHEN searchable THEN last_digits ELSE coalesce(instrument ->> 'last4Digits', account ->> 'last4Digits') END)
    IS NOT NULL;

DROP INDEX payment_by_email;
DROP INDEX payment_by_merchant_customer;
DROP INDEX payment_by_charged_customer;
DROP INDEX payment_by_link;
DROP INDEX payment_by_last_digits;
