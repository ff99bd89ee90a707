-- Payments are found by the merchant's own id of a customer, also those that name a deleted customer by our id only.
CREATE INDEX deleted_customer_by_merchant_customer_id ON deleted_customer (merchant_customer_id, merchant_id);
