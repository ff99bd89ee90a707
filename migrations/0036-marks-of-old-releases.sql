-- While releases take turns, a process of an earlier one may write payments and knows nothing of marks; those payments would
-- not be found by status or response code. The database marks them itself, at the commit, when everything is written.
-- A gateway that knows marks names its process in a setting, and for its rows the trigger ends at this condition.
CREATE FUNCTION mark_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  found record;
BEGIN
  SELECT p.created_at, p.status, o.response_code INTO found
    FROM payment p CROSS JOIN LATERAL (SELECT response_code FROM operation o WHERE o.merchant_id = p.merchant_id
      AND o.pay_id = p.pay_id ORDER BY o.sequence DESC LIMIT 1) o
    WHERE p.merchant_id = NEW.merchant_id AND p.pay_id = NEW.pay_id;
  IF found.status = 'OK' AND found.response_code = '00000000' THEN
    DELETE FROM payment_mark WHERE merchant_id = NEW.merchant_id AND pay_id = NEW.pay_id;
  ELSIF found.status IS NOT NULL THEN
    INSERT INTO payment_mark (merchant_id, pay_id, created_at, status, response_code)
      VALUES (NEW.merchant_id, NEW.pay_id, found.created_at, found.status, found.response_code)
      ON CONFLICT (merchant_id, pay_id) DO UPDATE SET status = excluded.status, response_code = excluded.response_code;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER payment_mark_of_old_release AFTER INSERT OR UPDATE ON payment
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_setting('application_name') = 'tollgate' AND nullif(current_setting('tollgate.process', true), '') IS NULL)
  EXECUTE FUNCTION mark_payment();

-- What such a process has written before this migration.
INSERT INTO payment_mark (merchant_id, pay_id, created_at, status, response_code)
  SELECT p.merchant_id, p.pay_id, p.created_at, p.status, o.response_code
  FROM payment p CROSS JOIN LATERAL (SELECT response_code FROM operation o WHERE o.merchant_id = p.merchant_id
    AND o.pay_id = p.pay_id ORDER BY o.sequence DESC LIMIT 1) o
  WHERE (p.status <> 'OK' OR o.response_code <> '00000000')
    AND NOT EXISTS (SELECT 1 FROM payment_mark m WHERE m.merchant_id = p.merchant_id AND m.pay_id = p.pay_id)
  ON CONFLICT DO NOTHING;
