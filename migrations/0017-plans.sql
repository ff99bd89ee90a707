-- Plans that are paused: nothing is charged until somebody resumes them.
ALTER TABLE payment_plan ADD CONSTRAINT payment_plan_status_known
  CHECK (status IN ('PENDING', 'ACTIVE', 'PAUSED', 'SUSPENDED', 'CANCELLED', 'COMPLETED')) NOT VALID;
ALTER TABLE payment_plan VALIDATE CONSTRAINT payment_plan_status_known;
ALTER TABLE payment_plan DROP CONSTRAINT payment_plan_status_check;
