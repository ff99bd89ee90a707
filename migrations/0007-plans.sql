-- Payment plans: leave to charge a customer again. A plan is written with the first record of its initial payment and is
-- alive from the commit that approves it. How many payments were made and which was the last is asked of the payments.

CREATE TABLE payment_plan (
  merchant_id          text        NOT NULL,
  plan_id              uuid        NOT NULL,
  -- While it is PENDING the status of its initial payment tells the rest: one that has FAILED leaves nothing to wait for.
  initial_pay_id       uuid        NOT NULL,
  type                 text        NOT NULL CHECK (type IN ('RECURRING', 'UNSCHEDULED')),
  status               text        NOT NULL CHECK (status IN ('PENDING', 'ACTIVE', 'SUSPENDED', 'CANCELLED', 'COMPLETED')),
  currency             text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
  -- 0 where the initial payment only verified the card.
  amount               bigint      NOT NULL CHECK (amount BETWEEN 0 AND 999999999999),
  -- As it was sent: frequency, startDate, expiryDate, useCase, autoCharge.
  recurring            json,
  customer_id          uuid,
  merchant_customer_id text        CHECK (char_length(merchant_customer_id) BETWEEN 1 AND 64),
  -- The card that is charged, while the plan may still be: with customer_id it leads to the stored method. Its name makes
  -- a purge of the vault spare the number; a plan that has ended lets go of it and keeps the method's id instead.
  card_id              uuid,
  ended_method_id      uuid,
  scheme_reference_id  text        CHECK (char_length(scheme_reference_id) <= 64),
  next_payment_date    date,
  -- The automatic charge whose outcome is outstanding: nothing else is charged by itself until it is known.
  charging_pay_id      uuid,
  -- How often the payment of next_payment_date was declined.
  tries                smallint    NOT NULL CHECK (tries BETWEEN 0 AND 4),
  metadata             json,
  -- All in the merchant's time.
  created_at           timestamptz NOT NULL,
  updated_at           timestamptz NOT NULL,
  cancelled_at         timestamptz,
  cancellation_reason  text        CHECK (char_length(cancellation_reason) <= 255),
  version              integer     NOT NULL CHECK (version > 0),
  PRIMARY KEY (merchant_id, plan_id),
  FOREIGN KEY (merchant_id, initial_pay_id) REFERENCES payment (merchant_id, pay_id),
  CONSTRAINT plan_cancelled_at_a_time CHECK ((status = 'CANCELLED') = (cancelled_at IS NOT NULL)),
  CONSTRAINT plan_over_holds_no_card CHECK (status NOT IN ('CANCELLED', 'COMPLETED') OR card_id IS NULL)
) WITH (fillfactor = 85);
-- As for customers: only the primary key begins with merchant_id, so that no plan made on an empty table goes astray.
CREATE INDEX payment_plan_by_age ON payment_plan ((merchant_id || ''), created_at, plan_id);
CREATE INDEX payment_plan_by_customer ON payment_plan (customer_id, merchant_id) WHERE customer_id IS NOT NULL;
CREATE INDEX payment_plan_by_card ON payment_plan ((card_id::text), merchant_id) WHERE card_id IS NOT NULL;

-- The plan that a payment begins or belongs to. Written once, so that settling a payment rewrites no index.
ALTER TABLE payment ADD COLUMN plan_id uuid;
CREATE INDEX payment_by_plan ON payment (plan_id, pay_id) WHERE plan_id IS NOT NULL;

ALTER TABLE timer
  DROP CONSTRAINT timer_kind_check,
  -- PLAN: the next charge of a payment plan, or its end. Its pay_id is the plan's initial payment, its x_id the plan.
  ADD CONSTRAINT timer_kind_check CHECK (kind IN ('INQUIRY', 'CAPTURE', 'LAPSE', 'EXPIRE', 'PLAN'));

-- A thousand plans of one merchant are a thousand timers: each must be found by its own key, also by a plan that was made
-- while the table was empty. So this index, too, begins with an expression.
DROP INDEX timer_by_merchant;
CREATE INDEX timer_by_merchant ON timer ((merchant_id || ''), run_at);
