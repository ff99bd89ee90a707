-- News that every process must have heard before its sender goes on, and the faults that a developer ordered.

-- The number of the last announcement that the process has heard; null in a release that hears none.
ALTER TABLE gateway_process ADD COLUMN heard bigint;

-- What is to go wrong with the next operations of a merchant in the test environment: rules in their order. Kept here so
-- that every process serves them and each is used up once.
CREATE TABLE ordered_fault (
  merchant_id  text NOT NULL,
  rules        json NOT NULL,
  CONSTRAINT ordered_fault_pkey PRIMARY KEY (merchant_id),
  CONSTRAINT ordered_fault_merchant_id_fkey FOREIGN KEY (merchant_id) REFERENCES merchant (merchant_id)
);
