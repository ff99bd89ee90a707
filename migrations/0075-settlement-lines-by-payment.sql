-- The lines of one payment: `GET /settlements?payId=…`, and the comparison of books, which looks for the lines of each operation.
CREATE INDEX settlement_line_by_payment ON settlement_line (merchant_id, pay_id) WHERE pay_id IS NOT NULL;
