-- Payments that the release before wrote while it ran beside 0017-finding.sql have no marks yet.
INSERT INTO payment_mark (merchant_id, pay_id, created_at, status, response_code)
  SELECT p.merchant_id, p.pay_id, p.created_at, p.status, o.response_code
  FROM payment p CROSS JOIN LATERAL (SELECT response_code FROM operation o WHERE o.merchant_id = p.merchant_id
    AND o.pay_id = p.pay_id ORDER BY o.sequence DESC LIMIT 1) o
  WHERE (p.status <> 'OK' OR o.response_code <> '00000000')
    AND NOT EXISTS (SELECT 1 FROM payment_mark m WHERE m.merchant_id = p.merchant_id AND m.pay_id = p.pay_id)
  ON CONFLICT DO NOTHING;
