-- The lines of one settlement, the newest day first: `GET /settlements?settlementId=…`. By date alone all lines of the merchant are read.
-- The predicate holds for every line, so that only statements with the same condition can use the index: an import, which looks for
-- single lines while the statistics are old, would otherwise walk through all lines of a settlement for each of its own.
CREATE INDEX settlement_line_by_settlement ON settlement_line (merchant_id, settlement_id, date) WHERE settlement_id <> '';
