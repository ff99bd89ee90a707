-- A payment intent that its merchant has ended: it cannot be confirmed any more.
ALTER TABLE payment_intent ADD COLUMN cancelled_at timestamptz;
