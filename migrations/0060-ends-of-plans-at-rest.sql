-- A paused or suspended plan ends on its last day like an active one. Earlier releases deleted its timer, so such plans get the
-- timer of their end now. The timer of a plan has the plan's id in x_id. An end that has passed comes in an hour: processes of the
-- previous release, which still run beside this migration, would drop its timer.

INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
  SELECT pl.merchant_id, pl.initial_pay_id, pl.plan_id, 'PLAN',
    greatest(((pl.recurring->>'expiryDate')::date + 1)::timestamp AT TIME ZONE 'UTC'
      - m.clock_offset_ms * interval '1 millisecond', now() + interval '1 hour'), 0
  FROM payment_plan pl JOIN merchant m ON m.merchant_id = pl.merchant_id
  WHERE pl.status IN ('PAUSED', 'SUSPENDED') AND pl.charging_pay_id IS NULL AND pl.recurring->>'expiryDate' IS NOT NULL
  ON CONFLICT (merchant_id, pay_id, x_id, kind) DO NOTHING;
