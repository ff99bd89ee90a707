-- Listing and finding payments and their operations: every filter of GET /payments and GET /operations has an index. None
-- lies on a column that settling a payment changes, so that the second commit of a payment still rewrites no index.

CREATE INDEX payment_by_age ON payment (merchant_id, created_at, pay_id);
-- Few currencies and methods per merchant: one index serves both, each of them alone and together.
CREATE INDEX payment_by_currency ON payment (merchant_id, currency, method, created_at, pay_id);
CREATE INDEX payment_by_amount ON payment (merchant_id, amount, created_at, pay_id);
CREATE INDEX payment_by_ref_nr ON payment (merchant_id, ref_nr, created_at, pay_id) WHERE ref_nr IS NOT NULL;
CREATE INDEX payment_by_email ON payment (merchant_id, lower(details #>> '{customerInfo,email}'), created_at, pay_id)
  WHERE (details #>> '{customerInfo,email}') IS NOT NULL;
CREATE INDEX payment_by_merchant_customer
  ON payment (merchant_id, (details #>> '{customerInfo,merchantCustomerId}'), created_at, pay_id)
  WHERE (details #>> '{customerInfo,merchantCustomerId}') IS NOT NULL;
CREATE INDEX payment_by_charged_customer ON payment (merchant_id, (details ->> 'chargedCustomerId'), created_at, pay_id)
  WHERE (details ->> 'chargedCustomerId') IS NOT NULL;
CREATE INDEX payment_by_last_digits
  ON payment (merchant_id, coalesce(instrument ->> 'last4Digits', account ->> 'last4Digits'), created_at, pay_id)
  WHERE coalesce(instrument ->> 'last4Digits', account ->> 'last4Digits') IS NOT NULL;
CREATE INDEX payment_by_link ON payment (merchant_id, (details ->> 'linkId'), created_at, pay_id)
  WHERE (details ->> 'linkId') IS NOT NULL;

-- Payments that are not simply paid, by status and by last response code. Both change with every payment, so an index on
-- them would cost every payment; here stand only those that are worth looking for. A row is a hint: the payment decides.
CREATE TABLE payment_mark (
  merchant_id    text        NOT NULL,
  pay_id         uuid        NOT NULL,
  created_at     timestamptz NOT NULL,
  status         text        NOT NULL CONSTRAINT payment_mark_status_length CHECK (char_length(status) <= 20),
  response_code  text        NOT NULL CONSTRAINT payment_mark_code_form CHECK (response_code ~ '^[0-9]{8}$'),
  CONSTRAINT payment_mark_pkey PRIMARY KEY (merchant_id, pay_id)
) WITH (fillfactor = 85);
CREATE INDEX payment_mark_by_status ON payment_mark (merchant_id, status, created_at, pay_id);
CREATE INDEX payment_mark_by_code ON payment_mark (merchant_id, response_code, created_at, pay_id);
INSERT INTO payment_mark (merchant_id, pay_id, created_at, status, response_code)
  SELECT p.merchant_id, p.pay_id, p.created_at, p.status, o.response_code
  FROM payment p CROSS JOIN LATERAL (SELECT response_code FROM operation o WHERE o.merchant_id = p.merchant_id
    AND o.pay_id = p.pay_id ORDER BY o.sequence DESC LIMIT 1) o
  WHERE p.status <> 'OK' OR o.response_code <> '00000000';

-- The book of movements: operations by when they became final.
CREATE INDEX operation_by_end ON operation (merchant_id, type, state, updated_at, pay_id, sequence)
  WHERE state IN ('AUTHORIZED', 'OK', 'FAILED');
