-- Customers that were deleted. Their payments keep the id of the customer, which has no index, and are found by the merchant's
-- own id of the customer, which has one.

CREATE TABLE deleted_customer (
  merchant_id           text  NOT NULL,
  customer_id           uuid  NOT NULL,
  merchant_customer_id  text  NOT NULL
    CONSTRAINT deleted_customer_merchant_customer_id_length CHECK (char_length(merchant_customer_id) BETWEEN 1 AND 64),
  CONSTRAINT deleted_customer_pkey PRIMARY KEY (merchant_id, customer_id)
);
