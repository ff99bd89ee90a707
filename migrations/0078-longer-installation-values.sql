-- A hundred root secrets are 13,000 characters; the limit of 1,024 left room for seven. Root secrets are sealed, so nothing
-- shortens them.

ALTER TABLE installation DROP CONSTRAINT installation_value_check;
ALTER TABLE installation ADD CONSTRAINT installation_value_is_short CHECK (char_length(value) <= 16384);
