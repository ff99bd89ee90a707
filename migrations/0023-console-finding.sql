-- The console tells the story of one payment: what its provider sent about it, and what people did to it.
CREATE INDEX notice_item_by_reference ON notice_item (merchant_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX audit_by_object ON audit (object, number);
